//! Without special instructions: as the thesis has it, and by leaps.

/// Appends what both lists hold, in order, by walking through both: the thesis' linear merge (§2.2.3). Each list
/// must rise strictly.
pub fn merge(a: &[u32], b: &[u32], both: &mut Vec<u32>) {
    let (mut at_a, mut at_b) = (0, 0);
    while let (Some(&of_a), Some(&of_b)) = (a.get(at_a), b.get(at_b)) {
        if of_a == of_b {
            both.push(of_a);
        }
        at_a += usize::from(of_a <= of_b);
        at_b += usize::from(of_b <= of_a);
    }
}

/// Appends what both lists hold, in order. Each number of the shorter is looked for in what is left of the longer: by
/// steps that double and a binary search in the last. Each list must rise strictly.
pub fn gallop(a: &[u32], b: &[u32], both: &mut Vec<u32>) {
    let (short, mut long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    for &number in short {
        let mut reach = 1;
        while long.get(reach - 1).is_some_and(|&other| other < number) {
            reach *= 2;
        }
        // All before half of the reach are smaller.
        let (from, to) = (reach / 2, reach.min(long.len()));
        let place = from + long[from..to].partition_point(|&other| other < number);
        long = &long[place..];
        match long.first() {
            None => return,
            Some(&found) if found == number => both.push(number),
            Some(_) => {}
        }
    }
}
