//! Dominators, post-dominators, strongly connected components and natural loops
//! of a directed graph.
//!
//! A graph is a slice of successor lists: node `i` has an edge to each node of
//! `succs[i]`, and every number in a list is below `succs.len()`. Nothing here
//! recurses, so the size of a graph is bounded by memory alone.
//!
//! Dominators are found by the simple version of Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph" (1979),
//! which takes `n log n` even where control flow is a thicket; components by Tarjan's algorithm.

/// Nodes reachable from `entry`, each before its successors except along back
/// edges: reverse post-order of a depth-first search.
pub fn reverse_post_order<S: AsRef<[usize]>>(entry: usize, succs: &[S]) -> Vec<usize> {
    let mut visited = vec![false; succs.len()];
    let mut order = Vec::new();
    // A node and how many of its successors have been looked at.
    let mut stack = vec![(entry, 0)];
    visited[entry] = true;
    while let Some((node, next)) = stack.last_mut() {
        match succs[*node].as_ref().get(*next) {
            Some(&succ) => {
                *next += 1;
                if !std::mem::replace(&mut visited[succ], true) {
                    stack.push((succ, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// The immediate dominator of each node: the last node, other than itself, that
/// every path from `entry` to it passes. `None` for `entry` and for nodes that
/// can't be reached from it.
pub fn dominators<S: AsRef<[usize]>>(entry: usize, succs: &[S]) -> Vec<Option<usize>> {
    let Search {
        order,
        parent,
        preds,
    } = Search::from(entry, succs);
    let n = order.len();
    // From here on a node is its number in the search.
    let mut semi: Vec<usize> = (0..n).collect();
    let mut idom = vec![0; n];
    let mut buckets = vec![Vec::new(); n];
    let mut forest = Compressed::new(n);
    for node in (1..n).rev() {
        for &pred in &preds[node] {
            let best = forest.least(pred, &semi);
            semi[node] = semi[node].min(semi[best]);
        }
        buckets[semi[node]].push(node);
        let above = parent[node];
        forest.above[node] = Some(above);
        for below in std::mem::take(&mut buckets[above]) {
            let best = forest.least(below, &semi);
            idom[below] = if semi[best] < semi[below] {
                best
            } else {
                above
            };
        }
    }
    let mut result = vec![None; succs.len()];
    for node in 1..n {
        if idom[node] != semi[node] {
            idom[node] = idom[idom[node]];
        }
        result[order[node]] = Some(order[idom[node]]);
    }
    result
}

/// A depth-first search: the nodes that it comes to in their order, and by their numbers there from where it came to each, and the
/// predecessors among them.
struct Search {
    order: Vec<usize>,
    parent: Vec<usize>,
    preds: Vec<Vec<usize>>,
}

impl Search {
    fn from<S: AsRef<[usize]>>(entry: usize, succs: &[S]) -> Search {
        let mut number = vec![usize::MAX; succs.len()];
        let (mut order, mut parent, mut preds) = (vec![entry], vec![0], vec![Vec::new()]);
        number[entry] = 0;
        // A node's number and how many of its successors have been looked at.
        let mut path = vec![(0, 0)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let Some(&succ) = succs[order[node]].as_ref().get(*next) else {
                path.pop();
                continue;
            };
            *next += 1;
            if number[succ] == usize::MAX {
                number[succ] = order.len();
                path.push((order.len(), 0));
                order.push(succ);
                parent.push(node);
                preds.push(Vec::new());
            }
            preds[number[succ]].push(node);
        }
        Search {
            order,
            parent,
            preds,
        }
    }
}

/// The forest of the nodes that have been looked at, with short ways up.
struct Compressed {
    above: Vec<Option<usize>>,
    /// The node with the least semidominator on the way that was cut short.
    least: Vec<usize>,
}

impl Compressed {
    fn new(n: usize) -> Compressed {
        Compressed {
            above: vec![None; n],
            least: (0..n).collect(),
        }
    }

    /// The node with the least semidominator from `node` up to the root of its tree, which does not count.
    fn least(&mut self, node: usize, semi: &[usize]) -> usize {
        let mut way = vec![node];
        while let Some(above) = self.above[way[way.len() - 1]] {
            way.push(above);
        }
        // The root and what is right below it have nothing to cut short.
        let Some(root) = way.pop().filter(|_| !way.is_empty()) else {
            return self.least[node];
        };
        let mut best = None;
        while let Some(node) = way.pop() {
            if let Some(better) = best.filter(|b: &usize| semi[*b] < semi[self.least[node]]) {
                self.least[node] = better;
            }
            best = Some(self.least[node]);
            self.above[node] = Some(root);
        }
        self.least[node]
    }
}

/// The immediate post-dominator of each node: the first node, other than itself,
/// that every path from it to the end passes. `None` where that is the end itself.
///
/// The end is a virtual node behind every node of `exits` and every node without
/// successors. A loop that never ends counts as reaching it too, as if it could be
/// left from its node with the lowest number: branches inside the loop then still
/// have post-dominators inside it, and the code next to the loop does not count as
/// what "always follows". So every node has a path to the end.
pub fn post_dominators<S: AsRef<[usize]>>(succs: &[S], exits: &[usize]) -> Vec<Option<usize>> {
    let end = succs.len();
    let mut preds = vec![Vec::new(); end + 1];
    for (node, succs) in succs.iter().enumerate() {
        succs
            .as_ref()
            .iter()
            .for_each(|&succ| preds[succ].push(node));
    }
    let mut leaves = vec![false; end];
    exits.iter().for_each(|&exit| leaves[exit] = true);
    leave_endless_loops(succs, &mut leaves);
    preds[end] = (0..end).filter(|&node| leaves[node]).collect();
    let mut result = dominators(end, &preds);
    result.truncate(end);
    result
        .iter_mut()
        .for_each(|ipdom| *ipdom = ipdom.filter(|&node| node != end));
    result
}

/// Lets every component without a way out leave from its lowest node.
fn leave_endless_loops<S: AsRef<[usize]>>(succs: &[S], leaves: &mut [bool]) {
    let components = strongly_connected_components(succs);
    let mut component_of = vec![0; succs.len()];
    for (number, component) in components.iter().enumerate() {
        component
            .iter()
            .for_each(|&node| component_of[node] = number);
    }
    for (number, component) in components.iter().enumerate() {
        let inside = |node: usize| component_of[node] == number;
        let has_way_out = component
            .iter()
            .any(|&node| leaves[node] || !succs[node].as_ref().iter().all(|&succ| inside(succ)));
        if let (false, Some(&lowest)) = (has_way_out, component.iter().min()) {
            leaves[lowest] = true;
        }
    }
}

/// The strongly connected components, each after all components that it can
/// reach. A node on no cycle is a component of its own.
pub fn strongly_connected_components<S: AsRef<[usize]>>(succs: &[S]) -> Vec<Vec<usize>> {
    const UNVISITED: usize = usize::MAX;
    const DONE: usize = usize::MAX - 1;
    // The lowest discovery number known to be reachable, or a marker.
    let mut low = vec![UNVISITED; succs.len()];
    let mut components = Vec::new();
    let mut open = Vec::new();
    let mut discovered = 0;
    for root in 0..succs.len() {
        if low[root] != UNVISITED {
            continue;
        }
        // A node, its discovery number, and how many successors have been looked at.
        let mut path = vec![(root, discovered, 0)];
        while let Some((node, number, next)) = path.last_mut() {
            let (node, number) = (*node, *number);
            if *next == 0 {
                low[node] = number;
                open.push(node);
                discovered += 1;
            }
            if let Some(&succ) = succs[node].as_ref().get(*next) {
                *next += 1;
                match low[succ] {
                    UNVISITED => path.push((succ, discovered, 0)),
                    DONE => {}
                    reached => low[node] = low[node].min(reached),
                }
                continue;
            }
            path.pop();
            if low[node] == number {
                let start = open.iter().rposition(|&member| member == node).unwrap_or(0);
                let component = open.split_off(start);
                component.iter().for_each(|&member| low[member] = DONE);
                components.push(component);
            } else if let Some((parent, _, _)) = path.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
        }
    }
    components
}

/// A natural loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The node that every path into the loop passes first.
    pub header: usize,
    /// All nodes of the loop, the header included, in ascending order.
    pub nodes: Vec<usize>,
}

/// The natural loops of the part that `entry` reaches, by ascending header: for
/// each node that dominates one of its predecessors, the nodes that get from there
/// back to it without passing it. Cycles with several entries are none.
pub fn natural_loops<S: AsRef<[usize]>>(entry: usize, succs: &[S]) -> Vec<Loop> {
    let idoms = dominators(entry, succs);
    let mut preds = vec![Vec::new(); succs.len()];
    for node in reverse_post_order(entry, succs) {
        succs[node]
            .as_ref()
            .iter()
            .for_each(|&succ| preds[succ].push(node));
    }
    let mut loops = Vec::new();
    for header in 0..succs.len() {
        let mut pending: Vec<usize> = preds[header]
            .iter()
            .copied()
            .filter(|&pred| dominates(&idoms, header, pred))
            .collect();
        if pending.is_empty() {
            continue;
        }
        let mut inside = vec![false; succs.len()];
        inside[header] = true;
        while let Some(node) = pending.pop() {
            if !std::mem::replace(&mut inside[node], true) {
                pending.extend(&preds[node]);
            }
        }
        let nodes = (0..succs.len()).filter(|&node| inside[node]).collect();
        loops.push(Loop { header, nodes });
    }
    loops
}

/// Whether `a` dominates `b`, given the immediate dominators. Every node dominates
/// itself. Post-dominance alike.
pub fn dominates(idoms: &[Option<usize>], a: usize, b: usize) -> bool {
    std::iter::successors(Some(b), |&node| idoms[node]).any(|node| node == a)
}

/// A forest of immediate dominators that answers at once, however deep it is.
#[derive(Clone, Debug)]
pub struct Forest {
    /// When a walk through the trees comes to each node, and when it has left all below it.
    spans: Vec<(u32, u32)>,
}

impl Forest {
    /// Of immediate dominators, or post-dominators.
    pub fn of(idoms: &[Option<usize>]) -> Forest {
        let mut below = vec![Vec::new(); idoms.len()];
        let mut open: Vec<(usize, bool)> = Vec::new();
        for (node, above) in idoms.iter().enumerate() {
            match above {
                Some(above) => below[*above].push(node),
                None => open.push((node, false)),
            }
        }
        let (mut spans, mut clock) = (vec![(0, 0); idoms.len()], 0);
        while let Some((node, left)) = open.pop() {
            if left {
                spans[node].1 = clock;
                continue;
            }
            spans[node].0 = clock;
            clock += 1;
            open.push((node, true));
            open.extend(below[node].iter().map(|below| (*below, false)));
        }
        Forest { spans }
    }

    /// As [`dominates`].
    pub fn dominates(&self, a: usize, b: usize) -> bool {
        let (first, end) = self.spans[a];
        (first..end).contains(&self.spans[b].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Nodes that `from` reaches without passing `without`.
    fn reach(succs: &[Vec<usize>], from: usize, without: Option<usize>) -> Vec<bool> {
        let mut seen = vec![false; succs.len()];
        let mut pending = vec![from];
        while let Some(node) = pending.pop() {
            if Some(node) != without && !std::mem::replace(&mut seen[node], true) {
                pending.extend(&succs[node]);
            }
        }
        seen
    }

    /// `a` dominates `b`: without `a`, `b` can't be reached.
    fn dominates_by_definition(succs: &[Vec<usize>], entry: usize, a: usize, b: usize) -> bool {
        a == b || !reach(succs, entry, Some(a))[b]
    }

    /// The graph with the virtual end that [`post_dominators`] describes.
    fn with_end(succs: &[Vec<usize>], exits: &[usize]) -> Vec<Vec<usize>> {
        let n = succs.len();
        let reaches: Vec<_> = (0..n).map(|node| reach(succs, node, None)).collect();
        let mut graph = succs.to_vec();
        graph.push(Vec::new());
        for node in 0..n {
            let endless = (0..n).all(|other| {
                !reaches[node][other]
                    || (reaches[other][node] && other >= node && !exits.contains(&other))
            });
            if exits.contains(&node) || endless {
                graph[node].push(n);
            }
        }
        graph
    }

    fn graphs() -> impl Strategy<Value = Vec<Vec<usize>>> {
        (1usize..9)
            .prop_flat_map(|n| prop::collection::vec(prop::collection::vec(0..n, 0..4), n..=n))
    }

    proptest! {
        #![proptest_config(testing::random(2000))]

        #[test]
        fn dominators_match_the_definition(succs in graphs()) {
            let reachable = reach(&succs, 0, None);
            let idoms = dominators(0, &succs);
            for b in 0..succs.len() {
                if !reachable[b] {
                    prop_assert_eq!(idoms[b], None);
                    continue;
                }
                for (a, &is_reachable) in reachable.iter().enumerate() {
                    let expected = is_reachable && dominates_by_definition(&succs, 0, a, b);
                    prop_assert_eq!(dominates(&idoms, a, b), expected, "{} dominates {}", a, b);
                    prop_assert_eq!(Forest::of(&idoms).dominates(a, b), expected);
                }
            }
        }

        #[test]
        fn post_dominators_match_the_definition(
            (succs, exits) in graphs().prop_flat_map(|succs| {
                let exits = prop::collection::vec(0..succs.len(), 0..3);
                (Just(succs), exits)
            })
        ) {
            let ipdoms = post_dominators(&succs, &exits);
            let graph = with_end(&succs, &exits);
            let end = succs.len();
            for b in 0..end {
                prop_assert!(reach(&graph, b, None)[end], "{} has no way to the end", b);
                for a in 0..end {
                    let expected = a == b || !reach(&graph, b, Some(a))[end];
                    prop_assert_eq!(dominates(&ipdoms, a, b), expected, "{} post-dominates {}", a, b);
                }
            }
        }

        #[test]
        fn components_match_the_definition(succs in graphs()) {
            let reaches: Vec<_> = (0..succs.len()).map(|node| reach(&succs, node, None)).collect();
            let components = strongly_connected_components(&succs);
            let mut number = vec![None; succs.len()];
            for (at, component) in components.iter().enumerate() {
                for &node in component {
                    prop_assert_eq!(number[node].replace(at), None);
                }
            }
            for a in 0..succs.len() {
                for b in 0..succs.len() {
                    let same = reaches[a][b] && reaches[b][a];
                    prop_assert_eq!(number[a] == number[b], same);
                    prop_assert!(!reaches[a][b] || number[b] <= number[a]);
                }
            }
        }

        #[test]
        fn loops_match_the_definition(succs in graphs()) {
            let reachable = reach(&succs, 0, None);
            let loops = natural_loops(0, &succs);
            for header in 0..succs.len() {
                let latches: Vec<_> = (0..succs.len())
                    .filter(|&node| reachable[node] && succs[node].contains(&header))
                    .filter(|&node| dominates_by_definition(&succs, 0, header, node))
                    .collect();
                let found = loops.iter().find(|found| found.header == header);
                prop_assert_eq!(found.is_some(), !latches.is_empty());
                let Some(found) = found else { continue };
                for (node, &is_reachable) in reachable.iter().enumerate() {
                    let gets_back = is_reachable
                        && latches.iter().any(|&latch| reach(&succs, node, Some(header))[latch]);
                    let inside = node == header || gets_back;
                    prop_assert_eq!(found.nodes.contains(&node), inside, "{}", node);
                }
            }
        }

        #[test]
        fn reverse_post_order_visits_what_is_reachable_once(succs in graphs()) {
            let reachable = reach(&succs, 0, None);
            let mut order = reverse_post_order(0, &succs);
            prop_assert_eq!(order[0], 0);
            order.sort_unstable();
            let expected: Vec<_> = (0..succs.len()).filter(|&node| reachable[node]).collect();
            prop_assert_eq!(order, expected);
        }
    }

    #[test]
    fn reverse_post_order_of_an_acyclic_graph_is_topological() {
        let succs = [vec![1, 2], vec![3], vec![3, 1], vec![]];
        assert_eq!(reverse_post_order(0, &succs), [0, 2, 1, 3]);
    }

    #[test]
    fn an_endless_loop_has_post_dominators_inside() {
        // 0 → 1 → {2, 3} → 4 → 1, for ever.
        let succs = [vec![1], vec![2, 3], vec![4], vec![4], vec![1]];
        // It leaves from its lowest node, 1: the branch there ends the loop.
        assert_eq!(
            post_dominators(&succs, &[]),
            [Some(1), None, Some(4), Some(4), Some(1)]
        );
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let succs: Vec<Vec<usize>> = (0..200_000)
            .map(|i| if i < 199_999 { vec![i + 1] } else { vec![] })
            .collect();
        assert_eq!(dominators(0, &succs)[199_999], Some(199_998));
        assert_eq!(post_dominators(&succs, &[])[0], Some(1));
        assert_eq!(strongly_connected_components(&succs).len(), 200_000);
    }
}
