//! Fat binaries: the containers in which nvcc puts PTX and machine code into a program.
//!
//! A container is a header (magic, version, its own size, the size of what follows) and a list of entries, each with a header whose
//! size it states, and a payload that is stored as it is, as an LZ4 block or as a zstd frame. The layout follows from the public
//! `fatbinary_section.h` and from what compilers since 11 write; what is not understood is left out, never guessed.
//!
//! A few bytes can stand for gigabytes. So whoever reads containers says how many bytes all of them may unpack to ([`Room`]), and that is
//! looked at before anything is allocated.

use ptx::ast::Item;
use std::io::Read as _;

/// `__fatBinC_Wrapper_t::magic`
pub const WRAPPER_MAGIC: u32 = 0x4662_43B1;
/// First word of a container.
pub const MAGIC: u32 = 0xBA55_ED50;
/// Bytes of a container's header.
pub const HEADER: usize = 16;
/// Bytes of PTX that are unpacked of the containers of one module where nobody says less.
const LARGEST: usize = 512 << 20;
/// Bytes that one byte of an LZ4 block can stand for at most (LZ4 Block Format Description, "Compressed block format").
const LZ4_RATIO: usize = 255;

/// Bytes that may still be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room(usize);

impl Room {
    /// For so many bytes.
    pub fn of(bytes: usize) -> Room {
        Room(bytes)
    }

    fn take(&mut self, bytes: usize) -> Result<(), FatbinError> {
        self.0 = self.0.checked_sub(bytes).ok_or(FatbinError::TooLarge)?;
        Ok(())
    }
}

impl Default for Room {
    fn default() -> Room {
        Room(LARGEST)
    }
}

/// Bits of an entry's flags.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
const ARCH_SPECIFIC: u64 = 0x10_0000;

/// The PTX of one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptx {
    /// Compute capability, 90 for `sm_90`.
    pub arch: u32,
    /// Whether it is for this architecture alone (`sm_90a`).
    pub specific: bool,
    /// The text.
    pub text: String,
}

/// What a container holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The PTX in it.
    pub ptx: Vec<Ptx>,
    /// Architectures for which it has machine code.
    pub machine_code: Vec<u32>,
}

impl Contents {
    /// Whether this is the device's runtime library, which nvcc links to programs whose kernels launch kernels. It is a part of the toolkit and
    /// not of the program, and what it does is done here. Up to CUDA 11 it brings PTX along.
    pub fn is_device_runtime(&self) -> bool {
        const ITS_OWN: &str = "cudaLaunchDeviceV2";
        let defines = |tree: ptx::ast::Module| {
            tree.items
                .iter()
                .any(|i| matches!(i, Item::Function(f) if f.name == ITS_OWN && f.body.is_some()))
        };
        let mut texts = self.ptx.iter().map(|ptx| &ptx.text);
        texts.any(|text| text.contains(ITS_OWN) && ptx::parse(text).is_ok_and(defines))
    }
}

/// Why a container can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FatbinError {
    /// No container begins here.
    #[error("no fat binary begins here")]
    Magic,
    /// It ends before it should.
    #[error("the fat binary is cut off")]
    Truncated,
    /// An entry can't be unpacked.
    #[error("an entry of the fat binary can't be unpacked")]
    Compression,
    /// There is more in it than may be unpacked.
    #[error("the fat binaries unpack to more than is read of them")]
    TooLarge,
}

/// Bytes that the container whose header begins with `header` takes.
///
/// # Errors
///
/// It is none.
pub fn size(header: &[u8; HEADER]) -> Result<usize, FatbinError> {
    if number(header, 0, 4) != Some(u64::from(MAGIC)) {
        return Err(FatbinError::Magic);
    }
    let own = number(header, 6, 2).ok_or(FatbinError::Truncated)?;
    let rest = number(header, 8, 8).ok_or(FatbinError::Truncated)?;
    let size = own.checked_add(rest).filter(|s| *s < 1 << 40);
    size.map(|s| s as usize).ok_or(FatbinError::Truncated)
}

/// Reads a container by itself.
///
/// # Errors
///
/// [`FatbinError`]
pub fn read(bytes: &[u8]) -> Result<Contents, FatbinError> {
    read_within(bytes, &mut Room::default())
}

/// Reads one of several containers that have room together.
///
/// # Errors
///
/// [`FatbinError`]
pub fn read_within(bytes: &[u8], room: &mut Room) -> Result<Contents, FatbinError> {
    let header: &[u8; HEADER] = bytes.first_chunk().ok_or(FatbinError::Truncated)?;
    let end = size(header)?.min(bytes.len());
    let mut at = number(bytes, 6, 2).ok_or(FatbinError::Truncated)? as usize;
    let mut contents = Contents::default();
    while at < end {
        let entry = bytes.get(at..end).ok_or(FatbinError::Truncated)?;
        let field = |offset, length| number(entry, offset, length).ok_or(FatbinError::Truncated);
        let (kind, own, payload) = (field(0, 2)?, field(4, 4)? as usize, field(8, 8)? as usize);
        let arch = field(28, 4)? as u32;
        let next = own
            .checked_add(payload)
            .filter(|n| *n > 0 && *n <= entry.len());
        let next = next.ok_or(FatbinError::Truncated)?;
        match kind {
            1 => {
                let flags = field(40, 8)?;
                let packed = match field(16, 4)? as usize {
                    0 => payload,
                    size => size,
                };
                let end = own.checked_add(packed).ok_or(FatbinError::Truncated)?;
                let data = entry.get(own..end).ok_or(FatbinError::Truncated)?;
                let text = unpack(data, flags, field(56, 8)? as usize, room)?;
                contents.ptx.push(Ptx {
                    arch,
                    specific: flags & ARCH_SPECIFIC != 0,
                    text,
                });
            }
            2 => contents.machine_code.push(arch),
            _ => {}
        }
        at += next;
    }
    Ok(contents)
}

/// The text of an entry, without the zeros that pad it.
fn unpack(data: &[u8], flags: u64, size: usize, room: &mut Room) -> Result<String, FatbinError> {
    let mut bytes = Vec::new();
    if flags & ZSTD != 0 {
        let decoder = ruzstd::decoding::StreamingDecoder::new(data);
        let decoder = decoder.map_err(|_| FatbinError::Compression)?;
        // What is one byte too long is seen, and no more is unpacked.
        let mut decoder = decoder.take(room.0 as u64 + 1);
        decoder
            .read_to_end(&mut bytes)
            .map_err(|_| FatbinError::Compression)?;
        room.take(bytes.len())?;
    } else if flags & LZ4 != 0 {
        if size / LZ4_RATIO > data.len() {
            return Err(FatbinError::Compression);
        }
        room.take(size)?;
        let unpacked = lz4_flex::block::decompress(data, size);
        bytes = unpacked.map_err(|_| FatbinError::Compression)?;
    } else {
        room.take(data.len())?;
        bytes.extend_from_slice(data);
    }
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    String::from_utf8(bytes).map_err(|_| FatbinError::Compression)
}

/// A little-endian number.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}

/// The PTX to run on a device of this compute capability: what is for it alone first, then the newest that is not newer; where all is
/// newer, the oldest.
pub fn choose(all: &[Ptx], capability: u32) -> Option<&Ptx> {
    let fits = all.iter().filter(|p| match p.specific {
        true => p.arch == capability,
        false => p.arch <= capability,
    });
    fits.max_by_key(|p| (p.arch, p.specific))
        .or_else(|| all.iter().min_by_key(|p| (p.specific, p.arch)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u16, arch: u32, flags: u64, data: &[u8], size: usize) -> Vec<u8> {
        let mut out = vec![0u8; 64];
        out[..2].copy_from_slice(&kind.to_le_bytes());
        out[2..4].copy_from_slice(&0x101u16.to_le_bytes());
        out[4..8].copy_from_slice(&64u32.to_le_bytes());
        let padded = data.len().next_multiple_of(8);
        out[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
        out[16..20].copy_from_slice(&(data.len() as u32).to_le_bytes());
        out[28..32].copy_from_slice(&arch.to_le_bytes());
        out[40..48].copy_from_slice(&flags.to_le_bytes());
        out[56..64].copy_from_slice(&(size as u64).to_le_bytes());
        out.extend_from_slice(data);
        out.resize(64 + padded, 0);
        out
    }

    fn container(entries: &[Vec<u8>]) -> Vec<u8> {
        let body = entries.concat();
        let mut out = MAGIC.to_le_bytes().to_vec();
        out.extend_from_slice(&1u16.to_le_bytes());
        out.extend_from_slice(&16u16.to_le_bytes());
        out.extend_from_slice(&(body.len() as u64).to_le_bytes());
        out.extend_from_slice(&body);
        out
    }

    #[test]
    fn texts_are_read_as_they_were_stored() {
        let text =
            b".version 8.0 \n.target sm_75 and again .target sm_75 and again .target sm_75\n";
        let lz4 = lz4_flex::block::compress(text);
        let all = container(&[
            entry(2, 75, 0, b"machine code", 0),
            entry(1, 75, 0, text, 0),
            entry(1, 80, LZ4, &lz4, text.len()),
        ]);
        let contents = read(&all).unwrap();
        assert_eq!(contents.machine_code, [75]);
        let texts: Vec<_> = contents
            .ptx
            .iter()
            .map(|p| (p.arch, p.text.as_bytes()))
            .collect();
        assert_eq!(texts, [(75, &text[..]), (80, &text[..])]);
        assert_eq!(size(all.first_chunk().unwrap()), Ok(all.len()));
    }

    /// A zstd frame of blocks that repeat one byte (RFC 8878, "Blocks": type 1 is RLE; 128 KiB each).
    fn zstd_bomb(blocks: usize) -> Vec<u8> {
        // Magic number; a window of 128 KiB, no checksum, no content size.
        let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
        for block in (0..blocks).rev() {
            let header = (128 << 10) << 3 | 1 << 1 | u32::from(block == 0);
            out.extend(&header.to_le_bytes()[..3]);
            out.push(b' ');
        }
        out
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused_before_it_is_there() {
        let small = container(&[entry(1, 75, ZSTD, &zstd_bomb(8), 0)]);
        assert_eq!(read(&small).unwrap().ptx[0].text.len(), 1 << 20);
        let bomb = entry(1, 75, ZSTD, &zstd_bomb(80), 0);
        let all = container(&vec![bomb; 3]);
        let of = |bytes| read_within(&all, &mut Room::of(bytes));
        assert_eq!(of(10 << 20).unwrap_err(), FatbinError::TooLarge);
        // Each fits, and all of them do not.
        assert_eq!(of(29 << 20).unwrap_err(), FatbinError::TooLarge);
        assert_eq!(of(30 << 20).unwrap().ptx.len(), 3);
        // What an LZ4 block can't stand for.
        let lz4 = lz4_flex::block::compress(b"short");
        let all = container(&[entry(1, 75, LZ4, &lz4, 400 << 20)]);
        assert_eq!(read(&all), Err(FatbinError::Compression));
        let zeros = lz4_flex::block::compress(&[b' '; 1 << 20]);
        let all = container(&[entry(1, 75, LZ4, &zeros, 1 << 20)]);
        let little = read_within(&all, &mut Room::of(1 << 19));
        assert_eq!(little, Err(FatbinError::TooLarge));
        // Several containers share what room there is.
        let mut room = Room::of(3 << 19);
        assert!(read_within(&all, &mut room).is_ok());
        assert_eq!(read_within(&all, &mut room), Err(FatbinError::TooLarge));
    }

    #[test]
    fn what_is_cut_off_is_refused_at_every_length() {
        let all = container(&[entry(1, 75, 0, b".version 8.0", 0)]);
        for length in 0..all.len() - 4 {
            assert!(
                read(&all[..length]).is_err() || length == HEADER,
                "{length}"
            );
        }
        assert_eq!(read(&[7; 64]), Err(FatbinError::Magic));
    }

    #[test]
    fn the_best_architecture_is_chosen() {
        let of = |arch, specific| Ptx {
            arch,
            specific,
            text: String::new(),
        };
        let all = [
            of(75, false),
            of(80, false),
            of(90, false),
            of(90, true),
            of(100, false),
        ];
        let chosen = |capability| choose(&all, capability).map(|p| (p.arch, p.specific));
        assert_eq!(chosen(90), Some((90, true)));
        assert_eq!(chosen(86), Some((80, false)));
        assert_eq!(chosen(70), Some((75, false)));
        assert_eq!(choose(&[], 90), None);
    }
}
