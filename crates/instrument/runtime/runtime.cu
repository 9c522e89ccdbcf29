// The device part: one shadow record a unit of memory, checked and renewed in front of each access. The Rust side (`src/layout.rs`) has the
// same layouts and documents them; `src/lib.rs` says what is ordered by what, and what is only assumed to be.
//
// Compiled to PTX for sm_75 by `racetrap dev renew` (runtime.ptx), and joined to every module that is instrumented: `static` names, no
// variable, no address and no size but those that a launch hands over.
typedef unsigned long long u64;
typedef unsigned int u32;

// What all launches of a device share. A launch hands over, by value, as the last parameter of its kernel: the address of this, `plain_pages`,
// and the four words that a Thread begins its life with.
struct Config {
  u64 pages;      // table of shadow addresses by page of 2 MiB: 2^20 entries, by the lowest bits of a page's number; PAGE_TAG says of which page
  u64 sync;       // Sync[SYNC_ENTRIES] by launch
  u64 findings;   // Finding[finding_count], in memory of the host: it outlives a kernel that fails
  u64 tallies;    // Tally[finding_count], and behind it COUNTERS counters of 64 bits
  u64 kept;       // Kept[kept_mask + 1]: accesses that records had no room for, the latest by hash of address
  u64 concurrent; // by launch, 8 words: launches that nothing orders before it, by number
  u32 finding_count, kept_mask;
  u32 global_shift; // a record of global memory stands for 1 << shift bytes
  u32 unused;
  u64 numbers;    // of launches of graphs' nodes, by slot
};

// A thread, in its local memory. Kernels keep it in registers (`inline.ptx`), and store it in front of each call.
struct Thread {
  u32 epoch;      // whole-block barriers passed
  u32 warp;       // warp barriers passed since
  u32 shared_key; // thread, epoch, warp epoch: a record of shared memory without kind, strength and site
  u32 plain_shared; // where records of words of shared memory begin, less the block's address 0
  u64 key;        // launch, block, thread, epoch, warp epoch: the same for global memory
  u64 plain_pages; // the table of pages, where records are of words; or 0
  u32 plain_end;  // up to where words of shared memory have records
  u32 shadow;     // where the shadow of shared memory begins
  u32 thread;     // linear number in the block
  u32 block;      // linear number in the grid
  u32 fenced, fenced_narrow; // 1 + the epoch of the last fence that no strong write has followed, by scope; or 0
  u32 strong_read; // scopes of strong reads so far: bit 0 block, bit 1 device
  u32 launch;     // 1 to 254; 0: the launch is not watched
  const Config *config;
  u32 dynamic;    // bytes of dynamic shared memory that the program asked for
  u32 shadow_bytes; // bytes of shadow of shared memory; 0: shared memory is not watched
  u32 bits;       // B_...
  u32 unused;
};
static_assert(sizeof(Thread) == 88 && __builtin_offsetof(Thread, launch) == 60, "as src/layout.rs and inline.ptx have it");
#define B_SHARED_SHIFT(b) ((b) & 3)
// The blocks are more than their numbers in records can tell apart.
#define B_MANY_BLOCKS 16u
// There are launches that nothing orders before this one.
#define B_CONCURRENT 32u
#define B_MODULE(b) ((b) >> 8 & 0x3fff)
// The first launch that may not be over when this one runs; its own number, if there is none.
#define B_FLOOR(b) ((u64)((b) >> 24) << 52)

// Of a block: 1 + the epoch of its last release, and which warps have released in it, by scope; whether it has acquired; 1 + the last epoch
// in which something may have ordered its threads; and 1 + the epochs of its first strong reads of device and of block scope.
struct Sync { u64 released, narrow; u32 acquired, loose, reads, narrow_reads; };
struct Kept { u64 address, record; };
#define SYNC_ENTRIES 4096u

struct Finding { u64 key; u64 old; u64 now; u64 address; u32 unused, block, info, ready; u64 extra[2]; };
// What tells findings apart, and how often each happened: up to TALLY_END, because racy kernels would do little else than count.
struct Tally { u64 key; u32 count, unused; };
#define TALLY_END 4096u
enum { ASSUMED, UNWATCHED, LOST, UNNAMED, COUNTERS = 8 };

enum : u32 { NONE, WRITTEN, READ, SEVERAL };
// The last: a weak read, and before it the block wrote; or a strong write that itself releases what came before the thread's last fence.
enum { WEAK, CTA, GPU, AFTER_WRITE, RELEASING = AFTER_WRITE };
// A description of an access, by the instrumentation: site, whether it writes, strength.
#define D_SITE 0x3fffu
#define D_WRITE 0x4000u
#define D_ATOMIC 0x20000u
#define D_STRENGTH(d) ((d) >> 15 & 3)
// Of reads of global memory: of the word before, of this one and of the one behind.
#define D_RUN 0x40000u
// Equal and not 0: constants that are equal.
#define D_VALUE(d) ((d) >> 24)

// Warp epochs of records; beyond the last that is counted: what readers have in common.
#define W_MANY 11u
#define W_BLOCKS_SITES 12u
#define W_WARPS_SITES 13u
#define W_BLOCKS 14u
#define W_WARPS 15u
#define E_MANY 1023u

// Shadow of a page: a header for each line of 64 bytes, and a record for each unit of memory.
#define PAGE_TAG 0x1ffffu
#define HEADERS 0x40000u
// A header whose kind is not NONE stands for all 16 words of its line, where one instruction of half a warp accesses it as lane by word: its kind is
// where a record has its strength, and its thread is that of word 0. With NONE of this launch, each word has its own record.
#define H_LAUNCH (255ull << 52)
#define H_KIND(h) ((u32)((h) >> 60))
#define H_OPEN 1ull
// Several lanes have read each word, and the first and the last of them the words before and behind the line (D_RUN). It stays when words get records.
#define H_LANES (1ull << 30)
#define H_FLAGS (15ull << 28)
// Set by the host, with a launch that there is not: nothing of this line is anybody's memory; or some words are not, whose records are H_NOTHING.
#define H_NOTHING 0x1fffffff1fffffffull
#define H_PART 0x1ffeffff1ffeffffull
#define IS_BOUNDED(h) (((h) & H_LAUNCH) == H_LAUNCH)

#define RT static __device__ __noinline__
#define IN static __device__ __forceinline__

// global: kind 2, strength 2, launch 8, block 14, thread 10, epoch 10, warp 4, site 14
// shared: kind 2, strength 2, thread 10, epoch 5, warp 4, site 9
struct Record { u32 kind, strength, launch, block, thread, epoch, warp, site; };

struct GlobalFormat {
  typedef u64 Word;
  static const bool BLOCKS = true;
  static const u32 SITES = 0x3fff;
  IN Record open(u64 w, const Thread *) {
    return { (u32)(w >> 62), (u32)(w >> 60) & 3, (u32)(w >> 52) & 255, (u32)(w >> 38) & 0x3fff, (u32)(w >> 28) & 1023, (u32)(w >> 18) & 1023, (u32)(w >> 14) & 15, (u32)w & 0x3fff };
  }
  IN u64 close(u32 kind, u32 strength, u32 site, const Thread *t) { return (u64)(kind << 2 | strength) << 60 | t->key | site; }
  IN u64 several(u64 old, u32 strength, u32 warp) {
    return (old & ~(15ull << 60 | 15ull << 14)) | (u64)(SEVERAL << 2 | strength) << 60 | (u64)warp << 14;
  }
  // Whether the record stands already for what this read would add: weak reads, of several warps in this epoch or of several blocks, at this place
  // of the program or at several.
  IN bool is_read_by_several(u64 w, const Thread *t, u32 desc) {
    u64 launch = 15ull << 60 | 255ull << 52, block = 0x3fffull << 38 | 1023ull << 18;
    if ((w & launch) != ((u64)SEVERAL << 62 | t->key & 255ull << 52)) return false;
    u32 common = (u32)w >> 14 & 15;
    bool site = ((u32)w & SITES) == (desc & SITES);
    if (common == W_BLOCKS_SITES || common == W_BLOCKS && site) return true;
    return (common == W_WARPS_SITES || common == W_WARPS && site) && !((w ^ t->key) & block);
  }
  IN u64 load(u64 at) { return *(volatile u64 *)at; }
  IN u64 swap(u64 at, u64 v) { return atomicExch((u64 *)at, v); }
  IN u64 cas(u64 at, u64 old, u64 v) { return atomicCAS((u64 *)at, old, v); }
  IN u32 epoch(const Thread *t) { return t->epoch < E_MANY ? t->epoch : E_MANY; }
  IN bool many(u32 epoch) { return epoch == E_MANY; }
};

struct SharedFormat {
  typedef u32 Word;
  static const bool BLOCKS = false;
  static const u32 SITES = 0x1ff;
  IN Record open(u32 w, const Thread *t) {
    return { w >> 30, w >> 28 & 3, t->launch, t->block & 0x3fff, w >> 18 & 1023, w >> 13 & 31, w >> 9 & 15, w & 0x1ff };
  }
  IN u32 close(u32 kind, u32 strength, u32 site, const Thread *t) { return (kind << 2 | strength) << 28 | t->shared_key | site; }
  IN u32 several(u32 old, u32 strength, u32 warp) {
    return (old & ~(15u << 28 | 15u << 9)) | (SEVERAL << 2 | strength) << 28 | warp << 9;
  }
  IN bool is_read_by_several(u32 w, const Thread *t, u32 desc) {
    u32 same = 15u << 28 | 31u << 13 | 15u << 9 | 0x1ff;
    return (w & same) == ((u32)SEVERAL << 30 | t->shared_key & 31u << 13 | W_WARPS << 9 | desc & SITES);
  }
  IN u32 load(u64 at) { u32 v; asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v) : "r"((u32)at) : "memory"); return v; }
  IN u32 swap(u64 at, u32 v) { u32 o; asm volatile("atom.shared.exch.b32 %0, [%1], %2;" : "=r"(o) : "r"((u32)at), "r"(v) : "memory"); return o; }
  IN u32 cas(u64 at, u32 old, u32 v) { u32 o; asm volatile("atom.shared.cas.b32 %0, [%1], %2, %3;" : "=r"(o) : "r"((u32)at), "r"(old), "r"(v) : "memory"); return o; }
  IN u32 epoch(const Thread *t) { return 1 + t->epoch % 31; }
  IN bool many(u32) { return false; }
};

IN u64 *counter(const Thread *t, u32 which) { return (u64 *)(t->config->tallies + (u64)t->config->finding_count * sizeof(Tally)) + which; }
IN void count(const Thread *t, u32 which) { atomicAdd(counter(t, which), 1ull); }
IN Sync *sync_at(const Thread *t, u32 launch, u32 block) { return (Sync *)t->config->sync + launch * SYNC_ENTRIES + (block & (SYNC_ENTRIES - 1)); }
IN Sync *sync_of(const Thread *t, u32 block) { return sync_at(t, t->launch, block); }
IN bool is_concurrent(const Thread *t, u32 launch) {
  return t->bits & B_CONCURRENT && ((const volatile u32 *)t->config->concurrent)[t->launch * 8 + (launch >> 5)] >> (launch & 31) & 1;
}
IN u32 load(const u32 *at) { return *(volatile const u32 *)at; }

IN void keys(Thread *t) {
  u32 warp = t->warp < W_MANY ? t->warp : W_MANY;
  t->key = (u64)t->launch << 52 | (u64)(t->block & 0x3fff) << 38 | (u64)t->thread << 28 | (u64)GlobalFormat::epoch(t) << 18 | (u64)warp << 14;
  t->shared_key = t->thread << 18 | SharedFormat::epoch(t) << 13 | warp << 9;
}

// Of an address of shared memory: where it is in its block. In a launch with clusters, a block's own addresses have its rank above that (seen on an H200;
// PTX ISA, "Shared State Space": `.shared::cta` is a sub-window of `.shared::cluster`).
#define IN_BLOCK 0xffffffu

// What may order two accesses.
enum { ORDERED, PERHAPS, UNORDERED };

// Whether a release may cover an access: it came in a later epoch; or in the same, by the same warp, or by one that something may have ordered.
IN bool releases(const u64 &release, const Record &was, const Sync *of) {
  u64 word = *(volatile const u64 *)&release;
  u32 epoch = (u32)(word >> 32);
  if (epoch != was.epoch + 1) return epoch > was.epoch;
  return (u32)word >> (was.thread >> 5) & 1 || load(&of->loose) >= epoch;
}

// Whether what `was` stands for is ordered before what the thread does now. `cross` tells whether another block or launch did it.
template <class F> IN u32 order(const Record &was, const Thread *t, bool *cross, bool *narrow) {
  *cross = *narrow = false;
  if (was.launch != t->launch) {
    *cross = true;
    if (!is_concurrent(t, was.launch)) return ORDERED;
    // What it released may have come here by the host, too.
    const Sync *from = sync_at(t, was.launch, was.block);
    return was.kind == WRITTEN && was.strength == RELEASING || releases(from->released, was, from) ? PERHAPS : UNORDERED;
  }
  bool blocks = was.kind == SEVERAL && (was.warp == W_BLOCKS || was.warp == W_BLOCKS_SITES);
  u32 own = t->block & 0x3fff, found = UNORDERED;
  bool same = was.block == own;
  if (same && !blocks) {
    if (was.thread == t->thread && was.kind != SEVERAL) return ORDERED;
    u32 epoch = F::epoch(t);
    if (was.epoch != epoch) return ORDERED;
    if (F::many(epoch)) return PERHAPS;
    u32 warp = t->warp < W_MANY ? t->warp : W_MANY;
    if (was.thread >> 5 == t->thread >> 5 && was.warp <= W_MANY) {
      if (was.warp != warp) return ORDERED;
      if (warp == W_MANY) return PERHAPS;
    }
    if (load(&sync_of(t, own)->loose) > t->epoch) return PERHAPS;
    if (!(t->bits & B_MANY_BLOCKS)) return UNORDERED;
  }
  *cross = !same || blocks;
  // Another block: what it released at the time or later, and this one may have acquired.
  const Sync *from = sync_of(t, was.block), *here = sync_of(t, own);
  u32 acquired = load(&here->acquired);
  if (!acquired) return UNORDERED;
  bool wide = was.kind == WRITTEN && was.strength == RELEASING || releases(from->released, was, from), within = releases(from->narrow, was, from);
  if (acquired & 1 && wide) found = PERHAPS;
  else if (wide || within) *narrow = true;
  return found;
}

// Whether the block may have observed a strong write: what a thread does behind a strong read comes after the write that it has read, or that the
// read-modify-writes did between which it stands ("Causality Order": observation order, then base causality order).
IN bool observes(const Thread *t, bool cross, u32 earlier) {
  const Sync *here = sync_of(t, t->block);
  return (!cross || earlier == GPU) && (load(&here->reads) || !cross && load(&here->narrow_reads));
}

enum { SPACE_SHARED = 1, RULE_SCOPE = 2, CROSS = 4, CURRENT_WRITES = 8, LOCKSTEP = 16 };

template <class F> RT void report(const Thread *t, u64 old, u64 address, u32 desc, u32 info) {
  const Record was = F::open((typename F::Word)old, t);
  u32 site = desc & F::SITES, n = t->config->finding_count;
  // The earlier access's launch tells its module; within one launch it is this one's.
  u32 launch = was.launch == t->launch ? 0 : was.launch;
  u64 key = 1ull << 63 | (u64)(info & 31) << 58 | (u64)(was.kind) << 56 | (u64)launch << 46 | (u64)B_MODULE(t->bits) << 28 | (u64)was.site << 14 | site;
  u32 at = (u32)((key ^ key >> 29) * 0x9e3779b1u >> 7) % n;
  for (u32 tries = 0; tries < 64 && tries < n; tries++, at = at + 1 == n ? 0 : at + 1) {
    Tally *tally = (Tally *)t->config->tallies + at;
    u64 seen = *(volatile u64 *)&tally->key;
    if (!seen) seen = atomicCAS(&tally->key, 0ull, key);
    if (seen && seen != key) continue;
    if (load(&tally->count) < TALLY_END) atomicAdd(&tally->count, 1u);
    if (seen) return;
    Finding *f = (Finding *)t->config->findings + at;
    f->key = key;
    f->old = old;
    f->now = t->key;
    f->address = info & SPACE_SHARED ? address & IN_BLOCK : address;
    f->block = t->block;
    f->info = info | desc & ~0xffu << 8 | was.kind << 30;
    f->extra[0] = t->launch;
    f->extra[1] = desc;
    __threadfence_system();
    *(volatile u32 *)&f->ready = 1;
    return;
  }
  count(t, LOST);
}

// Where an access that a record has no room for is kept: the last one of an address, as long as no other address comes.
// Records of shared memory name neither launch nor block, so the place does.
IN u64 kept_place(const Thread *t, u64 address, u32 space) {
  return space ? 1ull << 63 | (u64)t->launch << 55 | (u64)t->block << 20 | address & IN_BLOCK : address;
}
IN Kept *kept_at(const Thread *t, u64 place) { return (Kept *)t->config->kept + ((u32)((place >> 2) * 0x9e3779b97f4a7c15ull >> 40) & t->config->kept_mask); }

IN void keep(const Thread *t, u64 record, u64 address, u32 space) {
  if (!t->config->kept) return;
  u64 place = kept_place(t, address, space);
  Kept *at = kept_at(t, place);
  *(volatile u64 *)&at->record = 0;
  *(volatile u64 *)&at->address = place;
  *(volatile u64 *)&at->record = record;
}

// Strong accesses by two lanes of a warp, one of them a load and the other a store, between which the warp has not met: no data race, but nothing
// orders them but lockstep. The host knows which loads only wait for a flag.
template <class F> RT void lockstep(const Thread *t, u64 old, u64 address, u32 desc, u32 space) {
  const Record was = F::open((typename F::Word)old, t);
  bool stores = desc & D_WRITE, own = was.thread == t->thread;
  if (was.launch != t->launch || F::BLOCKS && t->bits & B_MANY_BLOCKS || desc & D_ATOMIC || stores == (was.kind == WRITTEN)) return;
  if (was.warp >= W_MANY || was.thread >> 5 != t->thread >> 5 || own && was.kind != SEVERAL) return;
  if (own && t->config->kept) {
    // The lane itself is named. Another one that has read in another line?
    u64 wanted = kept_place(t, address, space);
    Kept *at = kept_at(t, wanted);
    u64 record = *(volatile u64 *)&at->record, place = *(volatile u64 *)&at->address;
    const Record other = F::open((typename F::Word)record, t);
    bool same = record && place == wanted && record == *(volatile u64 *)&at->record && other.launch == was.launch && other.block == was.block;
    if (same && other.epoch == was.epoch && other.warp == was.warp && other.thread != t->thread && other.thread >> 5 == t->thread >> 5) old = record;
  }
  report<F>(t, old, address, desc, space | LOCKSTEP | (stores ? CURRENT_WRITES : 0));
}

template <class F, bool from_kept> RT u32 clash_with(const Thread *t, u64 old, u64 address, u32 desc, u32 space) {
  const Record was = F::open((typename F::Word)old, t);
  bool cross, narrow;
  u32 ordered = order<F>(was, t, &cross, &narrow);
  if (ordered == ORDERED) return ORDERED;
  u32 strength = D_STRENGTH(desc), earlier = was.strength != AFTER_WRITE ? was.strength : was.kind == WRITTEN ? GPU : WEAK;
  bool strong = earlier && strength;
  // Morally strong: each one's scope includes the other.
  if (strong && (!cross || (earlier == GPU && strength == GPU))) {
    if (!from_kept && !cross && ordered == UNORDERED) lockstep<F>(t, old, address, desc, space);
    return UNORDERED;
  }
  if (ordered == UNORDERED && was.kind == WRITTEN && earlier && observes(t, cross, earlier)) ordered = PERHAPS;
  if (ordered == PERHAPS) {
    if (!from_kept) count(t, ASSUMED);
    return PERHAPS;
  }
  // Reads at several places, of which one is named: is it the one that clashes? Of one warp's in global memory, nothing says that they are several.
  bool places = was.kind == SEVERAL && (was.warp == W_BLOCKS_SITES || was.warp == W_WARPS_SITES || !F::BLOCKS && was.strength == AFTER_WRITE);
  bool own = was.thread == t->thread || was.warp == W_WARPS_SITES && was.thread >> 5 == t->thread >> 5;
  bool hidden = was.kind != WRITTEN && !(desc & D_WRITE);
  if constexpr (!from_kept) if (hidden || places || was.kind == SEVERAL && own) {
    // Which access it clashes with, is not in the record.
    if (t->config->kept) {
      u64 wanted = kept_place(t, address, space);
      Kept *at = kept_at(t, wanted);
      u64 record = *(volatile u64 *)&at->record, place = *(volatile u64 *)&at->address;
      if (record && place == wanted && record == *(volatile u64 *)&at->record && clash_with<F, true>(t, record, address, desc, space) == UNORDERED) return UNORDERED;
    }
    // One of several readers is named; it may itself be ordered, and another is not.
    if (hidden || places && own) {
      count(t, UNNAMED);
      return UNORDERED;
    }
  }
  if (from_kept && was.kind != WRITTEN && !(desc & D_WRITE)) return ORDERED;
  u32 info = space | (strong || narrow ? RULE_SCOPE : 0) | (cross ? CROSS : 0) | (desc & D_WRITE ? CURRENT_WRITES : 0);
  report<F>(t, old, address, desc, info);
  return UNORDERED;
}

// The access clashes with what the record stands for: whether that is a race, is settled here.
template <class F> RT u32 clash(const Thread *t, u64 old, u64 address, u32 desc, u32 space) { return clash_with<F, false>(t, old, address, desc, space); }

// How strong the record of a write is.
IN u32 written_as(const Thread *t, u32 desc) { return D_STRENGTH(desc) == GPU && t->fenced ? RELEASING : D_STRENGTH(desc); }

template <class F> IN void write_unit(const Thread *t, u64 at, u64 address, u32 desc, u32 space) {
  typename F::Word mine = F::close(WRITTEN, F::BLOCKS ? written_as(t, desc) : D_STRENGTH(desc), desc & F::SITES, t);
  typename F::Word old = F::swap(at, mine);
  // Most often nothing was there, or it was the same thread.
  if (!old || !((old ^ mine) & ~(typename F::Word)F::SITES)) return;
  clash<F>(t, old, address, desc, space);
}

// What the record becomes when the thread reads; `old` itself where nothing changes.
template <class F> RT u64 after_read(const Thread *t, u64 old, u64 address, u32 desc, u32 space) {
  typedef typename F::Word Word;
  u32 strength = D_STRENGTH(desc);
  Word mine = F::close(READ, strength, desc & F::SITES, t);
  const Record was = F::open((Word)old, t);
  bool launch = was.launch == t->launch, same_block = launch && was.block == (t->block & 0x3fff);
  bool same_epoch = same_block && was.epoch == F::epoch(t), own = same_block && was.thread == t->thread;
  u32 warp = t->warp < W_MANY ? t->warp : W_MANY;
  if (was.kind == WRITTEN) {
    // Its own write, since which nothing happened, says more than the read would.
    if (own && same_epoch && !F::many(was.epoch)) return old;
    if (!own && clash<F>(t, old, address, desc, space) == UNORDERED) return old;
    if (!same_block || !F::BLOCKS) return mine;
    keep(t, old, address, space);
    return strength ? mine : F::close(READ, AFTER_WRITE, desc & F::SITES, t);
  }
  bool after = launch && was.strength == AFTER_WRITE, weak = !was.strength || was.strength == AFTER_WRITE;
  // Somebody of another block reads what a block wrote before.
  if (after && !same_block && clash<F>(t, old, address, desc, space) == UNORDERED) return old;
  if (launch && weak && strength) return old;
  if (F::BLOCKS && !strength && after && same_block) mine = F::close(READ, AFTER_WRITE, desc & F::SITES, t);
  if (!weak && !strength) return mine;
  bool cross, narrow;
  u32 ordered = order<F>(was, t, &cross, &narrow);
  if (ordered == ORDERED) {
    if (was.kind == READ && own && same_epoch && was.warp == warp) return old;
    return mine;
  }
  u32 weaker = after ? AFTER_WRITE : was.strength < strength ? was.strength : strength;
  bool sites = was.site != (desc & F::SITES), several = was.kind == SEVERAL;
  u32 common = was.warp;
  if (several && (common == W_BLOCKS || common == W_BLOCKS_SITES)) {
    if (sites) common = W_BLOCKS_SITES;
  } else if (!same_block) {
    common = sites || (several && common == W_WARPS_SITES) ? W_BLOCKS_SITES : W_BLOCKS;
  } else if (several && common >= W_WARPS_SITES) {
    if (sites) common = W_WARPS_SITES;
  } else if (was.thread >> 5 != t->thread >> 5) {
    common = sites || !F::BLOCKS && after ? W_WARPS_SITES : W_WARPS;
    if (!F::BLOCKS) weaker = WEAK;
  } else if (sites && !F::BLOCKS && weaker == WEAK) {
    weaker = AFTER_WRITE;
  }
  Word next = F::several((Word)old, weaker, common);
  if (sites && next != (Word)old && !after) keep(t, mine, address, space);
  return next;
}

template <class F> IN void read_unit(const Thread *t, u64 at, u64 address, u32 desc, u32 space) {
  typedef typename F::Word Word;
  Word old = F::load(at);
  if (F::is_read_by_several(old, t, desc)) return;
  while (true) {
    Word next = old ? (Word)after_read<F>(t, old, address, desc, space) : F::close(READ, D_STRENGTH(desc), desc & F::SITES, t);
    if (next == old) return;
    Word seen = F::cas(at, old, next);
    if (seen == old) return;
    old = seen;
  }
}

template <class F> IN void unit(const Thread *t, u64 at, u64 address, u32 desc, u32 space) {
  if (desc & D_WRITE) write_unit<F>(t, at, address, desc, space);
  else read_unit<F>(t, at, address, desc, space);
}

// The shadow of a page; 0: there is none.
IN u64 page_of(const Thread *t, u64 address) {
  u64 table = t->plain_pages ? t->plain_pages : t->config->pages, entry = ((const u64 *)table)[(address >> 21) & 0xfffff];
  return (entry & PAGE_TAG) == 1 + (address >> 41) ? entry & ~(u64)PAGE_TAG : 0;
}
IN u64 header_of(u64 page, u64 address) { return page + ((u32)address >> 6 & 0x7fff) * 8; }
IN u64 word_of(u64 page, u64 address, u32 shift) { return page + HEADERS + (u64)((u32)(address & 0x1fffff) >> shift) * 8; }

// The record of a word that a header stands for.
IN u64 word_of_header(u64 h, u32 word) {
  u64 kind = h & H_LANES ? SEVERAL : H_KIND(h);
  return kind << 62 | (h & ~(15ull << 60 | H_FLAGS)) + ((u64)word << 28);
}

// From now on each word of a line has its own record. What others do to the header or to records meanwhile is not lost: a record is written only
// while the header still stands for it, and a header changes only from what was written out.
RT void open_line(const Thread *t, u64 at) {
  u64 launch = t->key & H_LAUNCH, line = (at & HEADERS - 1) / 8, words = (at & ~(u64)(HEADERS - 1)) + HEADERS + line * 128;
  while (true) {
    u64 h = *(volatile u64 *)at;
    bool current = (h & H_LAUNCH) == launch;
    if (current && !H_KIND(h)) return;
    if (H_KIND(h) && (current || is_concurrent(t, (u32)(h >> 52) & 255))) {
      bool again = false;
      for (u32 i = 0; i < 16 && !again; i++) {
        u64 wanted = word_of_header(h, i), *record = (u64 *)words + i, old = *(volatile u64 *)record;
        while (old != wanted) {
          if (*(volatile u64 *)at != h) { again = true; break; }
          u64 seen = atomicCAS(record, old, wanted);
          if (seen == old) break;
          old = seen;
        }
      }
      // The results of these atomic operations were waited for, so they are done where the next one is done too.
      if (again) continue;
    }
    if (atomicCAS((u64 *)at, h, current && h & H_LANES ? h & ~(15ull << 60) : launch | H_OPEN) == h) return;
  }
}
// Whether a word of a line that is not all somebody's memory is; if not, that is a finding.
RT bool is_inside(const Thread *t, u64 at, u64 address, u32 desc) {
  u64 line = (at & HEADERS - 1) / 8, words = (at & ~(u64)(HEADERS - 1)) + HEADERS + line * 128, h = *(volatile u64 *)at;
  if (!IS_BOUNDED(h)) return true;
  if (h == H_PART && *(volatile u64 *)(words + ((u32)address >> 2 & 15) * 8) != H_NOTHING) return true;
  report<GlobalFormat>(t, 0, address, desc, desc & D_WRITE ? CURRENT_WRITES : 0);
  return false;
}

// A word is about to be checked by its own record. False: it is nobody's memory.
IN bool word_line(const Thread *t, u64 at, u64 address, u32 desc) {
  u64 h = *(const u64 *)at; // As in `inline.ptx`; and that words have their own records, stays so in a launch.
  u32 lane;
  if (!((h ^ t->key) & H_LAUNCH) && !H_KIND(h)) return true;
  if (IS_BOUNDED(h)) return is_inside(t, at, address, desc);
  u32 peers = __match_any_sync(__activemask(), at);
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  if (lane + 1 == __ffs(peers)) open_line(t, at);
  __syncwarp(peers);
  return true;
}
// A word at an end of its line is written: threads that read the line beside it may have read the word.
IN void written_beside(const Thread *t, u64 address, u32 desc) {
  u32 word = (u32)address >> 2 & 15;
  if (word && word != 15) return;
  u64 beside = word ? address + 4 : address - 4, page = page_of(t, beside);
  if (!page) return;
  u64 h = *(volatile u64 *)header_of(page, beside);
  if (!(h & H_LANES) || ((h ^ t->key) & H_LAUNCH && !is_concurrent(t, (u32)(h >> 52) & 255))) return;
  u64 kind = (h >> 14 & 15) == W_BLOCKS ? SEVERAL : READ;
  clash<GlobalFormat>(t, kind << 62 | h & ~(15ull << 60 | H_FLAGS) | (word ? 0 : H_FLAGS), address, desc, 0);
}

IN void plain_write(const Thread *t, u64 page, u64 address, u32 desc);
IN void plain_read(const Thread *t, u64 page, u64 address, u32 desc);

IN void global(const Thread *t, u64 address, u32 bytes, u32 desc) {
  u64 end = address + bytes;
  if (t->plain_pages && !(bytes & 3)) {
    for (; address < end; address += 4) {
      u64 page = page_of(t, address);
      if (!page) {
        count(t, UNWATCHED);
        return;
      }
      if (desc & D_WRITE) plain_write(t, page, address, desc);
      else plain_read(t, page, address, desc);
    }
    return;
  }
  u32 shift = t->config->global_shift;
  for (u64 a = address; a < end; a = (a >> shift) + 1 << shift) {
    u64 page = page_of(t, a);
    // A part of a unit is not told apart from the rest of it.
    if (!page || (bytes & (1u << shift) - 1)) {
      count(t, UNWATCHED);
      return;
    }
    if (shift == 2 && !word_line(t, header_of(page, a), a, desc)) return;
    unit<GlobalFormat>(t, word_of(page, a, shift), a, desc, 0);
    if (shift == 2 && desc & D_WRITE) written_beside(t, a, desc);
  }
}

IN void shared(const Thread *t, u32 address, u32 bytes, u32 desc) {
  u32 shift = B_SHARED_SHIFT(t->bits), end = address + bytes;
  // Beyond the block's memory, the access faults by itself; another block's has other high bits.
  if (end > t->shadow || (address ^ t->shadow) & ~IN_BLOCK || (bytes & (1u << shift) - 1)) {
    count(t, UNWATCHED);
    return;
  }
  address &= IN_BLOCK;
  end &= IN_BLOCK;
  for (u32 a = address; a < end; a = (a >> shift) + 1 << shift) unit<SharedFormat>(t, t->shadow + 16 + (a >> shift << 2), a, desc, SPACE_SHARED);
}

RT void global_any(const Thread *t, u64 address, u32 bytes, u32 desc) { global(t, address, bytes, desc); }
RT void shared_any(const Thread *t, u32 address, u32 bytes, u32 desc) { shared(t, address, bytes, desc); }
template <class F> RT void read_any(const Thread *t, u64 at, u64 address, u32 desc, u32 space) { read_unit<F>(t, at, address, desc, space); }

// What the thread does, done by another lane of its warp.
template <class F> RT void read_as(const Thread *of, u32 lane, u64 at, u64 address, u32 desc, u32 space) {
  Thread *t = (Thread *)of;
  u32 thread = t->thread;
  t->thread = thread & ~31u | lane;
  keys(t);
  read_unit<F>(t, at, address, desc, space);
  t->thread = thread;
  keys(t);
}

#define OFF(t) (!(t)->launch)
// The thread, by its address in local memory: so its fields are read there, and not through generic addresses.
#define THREAD Thread *t = (Thread *)__cvta_local_to_generic(at)
#define EXPORT __device__ __noinline__

extern "C" {
EXPORT void __racetrap_global(size_t at, u64 address, u32 bytes, u32 desc) {
  THREAD;
  if (!OFF(t)) global_any(t, address, bytes, desc);
}

EXPORT void __racetrap_shared(size_t at, u32 address, u32 bytes, u32 desc) {
  THREAD;
  if (!OFF(t)) shared_any(t, address, bytes, desc);
}

EXPORT void __racetrap_generic(size_t at, u64 address, u32 bytes, u32 desc) {
  THREAD;
  if (OFF(t)) return;
  if (__isShared((const void *)address)) {
    u64 offset;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(offset) : "l"(address));
    shared_any(t, (u32)offset, bytes, desc);
  } else if (__isGlobal((const void *)address)) {
    global_any(t, address, bytes, desc);
  } else if (!__isLocal((const void *)address)) {
    count(t, UNWATCHED);
  }
}

// Whole words, the usual way, without what is rare.
#define M_LAUNCH H_LAUNCH
#define M_BLOCK (0x3fffull << 38)
#define M_THREAD (1023ull << 28)
#define M_EPOCH (1023ull << 18)
#define M_WARP (15ull << 14)
#define M_SITE 0x3fffull
#define S_THREAD (1023u << 18)
#define S_LANES (31u << 18)
#define S_EPOCH (31u << 13)
#define S_WARP (15u << 9)
#define S_SITE 0x1ffu
// Kind and strength of records of shared memory: several lanes have read at several places.
#define PLACES 0xf0000000u
// Readers in the warp are several: the lane of another one.
#define D_OTHER(d) ((d) >> 18 & 63)

IN u32 lane_id() { u32 lane; asm("mov.u32 %0, %%laneid;" : "=r"(lane)); return lane; }

// Whether the launch of a record was over when this one began, or there is no record.
IN bool is_over(const Thread *t, u64 record) { return (record & M_LAUNCH) < B_FLOOR(t->bits); }

IN void plain_write(const Thread *t, u64 page, u64 address, u32 desc) {
  if (!word_line(t, header_of(page, address), address, desc)) return;
  written_beside(t, address, desc);
  u64 *to = (u64 *)word_of(page, address, 2), mine = GlobalFormat::close(WRITTEN, written_as(t, desc), desc & 0x3fff, t);
  u64 old = atomicExch(to, mine), x = old ^ mine;
  bool own = !(x & (M_BLOCK | M_THREAD)), before = !(x & M_BLOCK) && x & M_EPOCH;
  if (is_over(t, old) || !(x & M_LAUNCH) && (own || before) && old >> 62 != SEVERAL) return;
  clash<GlobalFormat>(t, old, address, desc, 0);
}

// Whether a record says all that a read would add. It may be an older one (`inline.ptx`).
IN bool has_read(const Thread *t, u64 old, u64 mine, u32 desc) {
  u64 x = old ^ mine;
  bool own = !(x & (M_LAUNCH | M_BLOCK | M_THREAD | M_EPOCH | M_WARP)) && old >> 62 != SEVERAL;
  return GlobalFormat::is_read_by_several(old, t, desc) || own && (old >> 62 == WRITTEN || !(x >> 60 & 3));
}

IN void plain_read(const Thread *t, u64 page, u64 address, u32 desc) {
  if (!word_line(t, header_of(page, address), address, desc)) return;
  u64 *to = (u64 *)word_of(page, address, 2), old = *to, mine = GlobalFormat::close(READ, D_STRENGTH(desc), desc & 0x3fff, t);
  if (has_read(t, old, mine, desc)) return;
  if (is_over(t, old) && atomicCAS(to, old, mine) == old) return;
  read_any<GlobalFormat>(t, (u64)to, address, desc, 0);
}

EXPORT void __racetrap_global_write4(size_t at, u64 address, u32 desc) {
  THREAD;
  u64 page = t->plain_pages ? page_of(t, address) : 0;
  if (page) plain_write(t, page, address, desc);
  else if (!OFF(t)) global_any(t, address, 4, desc);
}

// Behind a write of a word whose record was `old`.
EXPORT void __racetrap_global_wrote(size_t at, u64 address, u64 old, u32 desc) {
  THREAD;
  clash<GlobalFormat>(t, old, address, desc, 0);
}

EXPORT void __racetrap_global_read4(size_t at, u64 address, u32 desc) {
  THREAD;
  u64 page = t->plain_pages ? page_of(t, address) : 0;
  if (page) plain_read(t, page, address, desc);
  else if (!OFF(t)) global_any(t, address, 4, desc);
}

// What a header becomes; 0: words need records of their own. `mine` has H_LANES where other lanes of the warp read each word too.
IN u64 after_line(const Thread *t, u64 h, u64 mine, u32 desc) {
  if ((h ^ mine) & M_LAUNCH) return is_over(t, h) || (h & M_LAUNCH) < (mine & M_LAUNCH) && !is_concurrent(t, (u32)(h >> 52) & 255) ? mine : 0;
  u32 kind = H_KIND(h);
  u64 x = (h ^ mine) & ~H_FLAGS;
  if (!kind || kind > SEVERAL || !(~mine & M_EPOCH)) return 0;
  bool block = !(x & M_BLOCK), own = block && !(x & M_THREAD), epoch = !(x & M_EPOCH), site = !(x & M_SITE);
  // That words beside the line were read, is not forgotten.
  if (h & H_LANES && !(mine & H_LANES)) return own && epoch && !(x & M_WARP) && !(desc & D_WRITE) ? h : 0;
  if (kind == SEVERAL) return !(desc & D_WRITE) && site && !((h ^ mine) & H_LANES) ? h : 0;
  if (desc & D_WRITE) return own || block && !epoch ? mine : 0;
  if (kind == WRITTEN) return own && epoch && !(mine & H_LANES) ? h : 0;
  if (own && epoch && !(x & M_WARP)) return h | mine & H_LANES;
  if (block) return own || !epoch ? mine : 0;
  return site && !((h ^ mine) & H_LANES) ? h & ~(15ull << 60 | M_WARP | H_FLAGS) | h & H_LANES | (u64)SEVERAL << 60 | (u64)W_BLOCKS << 14 : 0;
}

// Each half of a warp accesses a line, lane by word: 0 where words need records of their own, else 1.
IN u32 line(const Thread *t, u64 header, u32 desc) {
  u32 done = 0;
  if (!(lane_id() & 15)) {
    u64 kind = desc & D_WRITE ? WRITTEN : READ, mine = kind << 60 | t->key & ~H_FLAGS | desc & M_SITE, h = *(volatile u64 *)header;
    if (desc & D_RUN) mine |= H_LANES;
    while (true) {
      u64 next = after_line(t, h, mine, desc);
      done = next ? 1 : 0;
      if (!next || next == h) break;
      u64 seen = atomicCAS((u64 *)header, h, next);
      if (seen == h) break;
      h = seen;
    }
  }
  return __shfl_sync(~0u, done, 0, 16);
}

// A word that this lane and another one read.
IN void global_read_by_two(const Thread *t, u64 address, u32 other, u32 desc) {
  u64 page = page_of(t, address);
  if (!page) {
    global_any(t, address, 4, desc);
    return;
  }
  if (!word_line(t, header_of(page, address), address, desc)) return;
  u64 *to = (u64 *)word_of(page, address, 2), old = *to, mine = GlobalFormat::close(SEVERAL, 0, desc & 0x3fff, t), x = old ^ mine;
  if (GlobalFormat::is_read_by_several(old, t, desc) || !(x & ~(31ull << 28))) return;
  if (is_over(t, old) && atomicCAS(to, old, mine) == old) return;
  read_any<GlobalFormat>(t, (u64)to, address, desc, 0);
  read_as<GlobalFormat>(t, other, (u64)to, address, desc, 0);
}

IN void global_words(const Thread *t, u64 address, u32 number, u32 distance, u32 desc) {
  for (u32 i = 0; i < number; i++, address += distance) {
    u64 page = t->plain_pages ? page_of(t, address) : 0;
    if (page) plain_read(t, page, address, desc);
    else global_any(t, address, 4, desc);
  }
}

// Words that all these lanes read: they share the work, and each record is changed once. Where many warps read the same, all others wait for that.
IN bool global_shared_words(const Thread *t, u64 address, u32 number, u32 distance, u32 desc) {
  u32 mask = __activemask(), count = __popc(mask), lane = lane_id(), leader = __ffs(mask) - 1;
  if (!t->plain_pages || count < 2 || D_STRENGTH(desc)) return false;
  if (!__all_sync(mask, address == __shfl_sync(mask, address, leader))) return false;
  u32 other = __ffs(mask & ~(1u << lane)) - 1;
  for (u32 i = __popc(mask & (1u << lane) - 1); i < number; i += count) global_read_by_two(t, address + (u64)i * distance, other, desc);
  __syncwarp(mask);
  return true;
}

// Reads of 4 bytes each at the same distance from each other: `run` is their number, and from bit 8 on the distance in words. Lanes that read one
// word after the other share the words.
EXPORT void __racetrap_global_run(size_t at, u64 address, u32 run, u32 desc) {
  THREAD;
  if (OFF(t)) return;
  u32 number = run & 255, distance = run >> 8 << 2, lane = lane_id();
  if (global_shared_words(t, address, number, distance, desc)) return;
  if (t->plain_pages && distance == 4 && number > 1 && number <= 32 && __activemask() == ~0u) {
    u64 first = __shfl_sync(~0u, address, 0);
    if (__all_sync(~0u, address == first + lane * 4)) {
      if (lane) global_read_by_two(t, address, lane - 1, desc);
      else __racetrap_global_read4(at, address, desc);
      // Words behind the last lane's first: the lane that is the first to read them.
      if (lane >= 33 - number) {
        u64 behind = address + (number - 1) * 4;
        if (lane < 31) global_read_by_two(t, behind, 31, desc);
        else __racetrap_global_read4(at, behind, desc);
      }
      return;
    }
  }
  global_words(t, address, number, distance, desc);
}

// Behind what a kernel does by itself (`inline.ptx`). `header`: each half of the warp accesses its line, lane by word; or 0. With D_RUN, the words
// before and behind are read too.
EXPORT void __racetrap_global_access(size_t at, u64 address, u64 header, u32 desc) {
  THREAD;
  u32 done = header ? line(t, header, desc) : 0, lane = lane_id() & 15;
  if (!done) {
    if (!(desc & (D_WRITE | D_RUN)) && global_shared_words(t, address, 1, 4, desc)) return;
    if (desc & D_WRITE) __racetrap_global_write4(at, address, desc);
    else if (desc & D_RUN) __racetrap_global_run(at, address - 4, 3 | 1 << 8, desc & ~D_RUN);
    else __racetrap_global_read4(at, address, desc);
  } else if (lane == 0 || lane == 15) {
    if (desc & D_WRITE) written_beside(t, address, desc);
    if (!(desc & D_RUN)) return;
    // The header says it, unless somebody has written there.
    u64 beside = lane ? address + 4 : address - 4, page = page_of(t, beside), h = page ? *(volatile u64 *)header_of(page, beside) : 0;
    if (!page || IS_BOUNDED(h) || (h & M_LAUNCH) == (t->key & M_LAUNCH) && H_KIND(h) < READ) __racetrap_global_read4(at, beside, desc & ~D_RUN);
  }
}

// What the usual record of shared memory becomes when a weak read follows; 0: it is not usual. As in `inline.ptx`.
IN u32 after_plain_read(u32 old, u32 mine, bool several) {
  u32 x = old ^ mine, warp = old & S_WARP;
  if (!old || x & S_EPOCH) return several ? mine | SEVERAL << 30 : mine;
  bool places = x & S_SITE, mixed = old >= PLACES;
  if ((old & 0xf0001fffu) == (SEVERAL << 30 | W_WARPS << 9 | mine & S_SITE) || (old & 0xf0001e00u) == (SEVERAL << 30 | W_WARPS_SITES << 9)) return old;
  if ((old & 0xb0000000u) != READ << 30 && !mixed || warp >= W_MANY << 9) return 0;
  if (x & (S_THREAD & ~S_LANES)) return (old & ~(3u << 28 | S_WARP)) | SEVERAL << 30 | (places || mixed ? W_WARPS_SITES : W_WARPS) << 9;
  if (x & S_WARP) return 0;
  return !several && !(x & S_LANES) ? old : old | (places ? PLACES & ~(READ << 30) : 1u << 30);
}

IN void plain_shared_read(const Thread *t, u32 to, u32 address, u32 desc, u32 old) {
  u32 mine = SharedFormat::close(READ, D_STRENGTH(desc), desc & S_SITE, t);
  while (!D_STRENGTH(desc)) {
    u32 next = after_plain_read(old, mine, D_OTHER(desc));
    if (next == old) return;
    if (!next) break;
    u32 seen = SharedFormat::cas(to, old, next);
    if (seen == old) return;
    old = seen;
  }
  read_any<SharedFormat>(t, to, address, desc, SPACE_SHARED);
  if (D_OTHER(desc)) read_as<SharedFormat>(t, D_OTHER(desc) - 1, to, address, desc, SPACE_SHARED);
}

// The same for shared memory: `old` is the record, or 0 where it was not looked at.
EXPORT void __racetrap_shared_read(size_t at, u32 address, u32 desc, u32 old) {
  THREAD;
  if (address < t->plain_end && !(address & 3)) plain_shared_read(t, t->plain_shared + address, address, desc, old);
  else if (!OFF(t)) shared_any(t, address, 4, desc);
}

EXPORT void __racetrap_shared_wrote(size_t at, u32 address, u32 desc, u32 old) {
  THREAD;
  if (!old) {
    if (!OFF(t)) shared_any(t, address, 4, desc);
    return;
  }
  if (!((old ^ t->shared_key) & S_THREAD) && old >> 30 != SEVERAL) return;
  clash<SharedFormat>(t, old, address, desc, SPACE_SHARED);
}

EXPORT void __racetrap_shared_write4(size_t at, u32 address, u32 desc) {
  THREAD;
  if (!OFF(t)) shared_any(t, address, 4, desc);
}

EXPORT void __racetrap_shared_read4(size_t at, u32 address, u32 desc) {
  THREAD;
  if (address < t->plain_end && !(address & 3)) plain_shared_read(t, t->plain_shared + address, address, desc, SharedFormat::load(t->plain_shared + address));
  else if (!OFF(t)) shared_any(t, address, 4, desc);
}

// Reads of 4 bytes each at the same distance from each other: `run` is their number, and from bit 8 on the distance in words. Lanes that read the
// same share them.
EXPORT void __racetrap_shared_run(size_t at, u32 address, u32 run, u32 desc) {
  THREAD;
  if (OFF(t)) return;
  u32 number = run & 255, distance = run >> 8 << 2, last = address + (number - 1) * distance;
  if (address & 3 || last >= t->plain_end || last < address) {
    for (u32 i = 0; i < number; i++) shared_any(t, address + i * distance, 4, desc);
    return;
  }
  u32 count = 1, rank = 0, to = t->plain_shared + address;
  if (!D_OTHER(desc)) {
    u32 peers = __match_any_sync(__activemask(), address), lane = lane_id(), others = peers & ~(1u << lane);
    count = __popc(peers);
    rank = __popc(peers & (1u << lane) - 1);
    desc |= others ? (u32)__ffs(others) << 18 : 0;
  }
  for (u32 i = rank; i < number; i += count) plain_shared_read(t, to + i * distance, address + i * distance, desc, SharedFormat::load(to + i * distance));
}

// One row of 16 bytes in each of the first lanes.
EXPORT void __racetrap_shared_rows(size_t at, u32 address, u32 lanes, u32 desc) {
  THREAD;
  u32 lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  if (!OFF(t) && lane < lanes) __racetrap_shared(at, address, 16, desc);
}

EXPORT void __racetrap_generic_rows(size_t at, u64 address, u32 lanes, u32 desc) {
  THREAD;
  u32 lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  if (!OFF(t) && lane < lanes) __racetrap_generic(at, address, 16, desc);
}

// An access that can't be judged.
EXPORT void __racetrap_unwatched(size_t at) {
  THREAD;
  if (!OFF(t)) count(t, UNWATCHED);
}

// A barrier of all threads of the block was passed; `clears`: nobody else uses barrier 0 now.
EXPORT void __racetrap_barrier(size_t at, u32 clears) {
  THREAD;
  if (OFF(t)) return;
  t->epoch++;
  t->warp = 0;
  keys(t);
  if (t->epoch % 31 || !t->shadow) return;
  if (!clears) { // Epochs of shared records would be mistaken for each other.
    t->shadow = t->plain_shared = t->plain_end = 0;
    return;
  }
  // Threads that are left share the work: some may have ended.
  u32 odd = t->epoch / 31 & 1, cursor = t->shadow + odd * 4, other = t->shadow + 4 - odd * 4, words = (t->shadow_bytes - 16) / 4;
  while (true) {
    u32 chunk;
    asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(chunk) : "r"(cursor) : "memory");
    if (chunk * 8 >= words) break;
    for (u32 i = chunk * 8; i < chunk * 8 + 8 && i < words; i++) asm volatile("st.shared.u32 [%0], %1;" ::"r"(t->shadow + 16 + i * 4), "r"(0) : "memory");
  }
  asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(other), "r"(0) : "memory");
  asm volatile("barrier.sync 0;" ::: "memory");
}

// The thread went past something that may order it after others of its block.
EXPORT void __racetrap_loose(size_t at) {
  THREAD;
  if (OFF(t)) return;
  u32 *loose = &sync_of(t, t->block)->loose;
  if (load(loose) <= t->epoch) atomicMax(loose, t->epoch + 1);
}

// A barrier of so many threads was passed: of all, or of some.
EXPORT void __racetrap_counted(size_t at, u32 expected) {
  if (expected >= blockDim.x * blockDim.y * blockDim.z) __racetrap_barrier(at, 1);
  else __racetrap_loose(at);
}

// A barrier of some lanes of the warp was passed.
EXPORT void __racetrap_warp(size_t at, u32 mask) {
  THREAD;
  if (OFF(t)) return;
  if (mask == ~0u) {
    t->warp++;
  } else {
    // Lanes have passed different numbers: all get one that is higher than each.
    u32 highest = t->warp, lane = t->thread & 31;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    if (mask >> lane & 1) {
      for (u32 left = mask; left; left &= left - 1) {
        u32 theirs = __shfl_sync(mask, t->warp, __ffs(left) - 1);
        highest = theirs > highest ? theirs : highest;
      }
    }
    t->warp = highest + 1;
  }
  keys(t);
}

#define READS 1
#define WRITES 2
#define SCOPE_BLOCK 1
#define SCOPE_DEVICE 2

IN void publish(const Thread *t, u64 *to, u32 epoch) {
  u64 old = *(volatile u64 *)to, bit = 1ull << (t->thread >> 5);
  while (true) {
    u32 known = (u32)(old >> 32);
    if (known > epoch || (known == epoch && old & bit)) return;
    u64 next = (u64)epoch << 32 | bit | (known == epoch ? old & 0xffffffffu : 0);
    u64 seen = atomicCAS(to, old, next);
    if (seen == old) return;
    old = seen;
  }
}

IN void acquired(const Thread *t, u32 bits) {
  Sync *sync = sync_of(t, t->block);
  if (~load(&sync->acquired) & bits) atomicOr(&sync->acquired, bits);
  if (load(&sync->loose) <= t->epoch) atomicMax(&sync->loose, t->epoch + 1);
}

// In front of an operation that releases by itself.
EXPORT void __racetrap_release(size_t at, u32 scope) {
  THREAD;
  if (OFF(t)) return;
  Sync *sync = sync_of(t, t->block);
  publish(t, scope == SCOPE_DEVICE ? &sync->released : &sync->narrow, t->epoch + 1);
}

// Behind an operation that acquires by itself.
EXPORT void __racetrap_acquire(size_t at, u32 scope) {
  THREAD;
  if (!OFF(t)) acquired(t, scope == SCOPE_DEVICE ? 1 : 2);
}

// Behind a fence: it acquires after a strong read, and releases in front of a strong write ("Release and Acquire Patterns").
EXPORT void __racetrap_fence(size_t at, u32 scope) {
  THREAD;
  if (OFF(t)) return;
  if (scope == SCOPE_DEVICE) t->fenced = t->epoch + 1;
  else t->fenced_narrow = t->epoch + 1;
  // A thread that a barrier of the block has ordered behind the reading one acquires, too.
  const Sync *sync = sync_of(t, t->block);
  u32 wide = load(&sync->reads), narrow = load(&sync->narrow_reads), reads = t->strong_read;
  if (wide && wide <= t->epoch) reads |= SCOPE_DEVICE;
  if (narrow && narrow <= t->epoch) reads |= SCOPE_BLOCK;
  if (reads) acquired(t, reads & SCOPE_DEVICE && scope == SCOPE_DEVICE ? 1 : 2);
}

// In front of a strong access.
EXPORT void __racetrap_strong(size_t at, u32 does, u32 scope) {
  THREAD;
  if (OFF(t)) return;
  if (does & WRITES && (t->fenced || t->fenced_narrow)) {
    Sync *sync = sync_of(t, t->block);
    if (t->fenced) publish(t, scope == SCOPE_DEVICE ? &sync->released : &sync->narrow, t->fenced);
    if (t->fenced_narrow) publish(t, &sync->narrow, t->fenced_narrow);
    // What follows the fence may be written several times: it releases each time.
  }
  if (does & READS && ~t->strong_read & scope) {
    t->strong_read |= scope;
    Sync *sync = sync_of(t, t->block);
    atomicCAS(scope == SCOPE_DEVICE ? &sync->reads : &sync->narrow_reads, 0u, t->epoch + 1);
  }
}
}
