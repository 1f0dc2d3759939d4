//! The meaning of every level, without special instructions.

use super::{BLOCK, joined, padded};
use crate::table::Rows;

pub(super) fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
    fold(a, b, |a, b| (a - b) * (a - b))
}

pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    fold(a, b, |a, b| a * b)
}

pub(super) fn distances(query: &[f32], rows: Rows<'_>, into: &mut Vec<f32>) {
    into.extend(rows.all().map(|row| squared_distance(query, row)));
}

pub(super) fn dots(query: &[f32], rows: Rows<'_>, into: &mut Vec<f32>) {
    into.extend(rows.all().map(|row| dot(query, row)));
}

pub(super) fn distances_of(query: &[f32], rows: Rows<'_>, numbers: &[u32], into: &mut Vec<f32>) {
    into.extend(numbers.iter().map(|&number| squared_distance(query, rows.row(number as usize))));
}

fn fold(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0; BLOCK];
    let mut add = |a: &[f32; BLOCK], b: &[f32; BLOCK]| {
        for (lane, (&a, &b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += term(a, b);
        }
    };
    let ((blocks_a, rest_a), (blocks_b, rest_b)) = (a.as_chunks(), b.as_chunks());
    for (a, b) in blocks_a.iter().zip(blocks_b) {
        add(a, b);
    }
    if !rest_a.is_empty() {
        add(&padded(rest_a), &padded(rest_b));
    }
    joined(lanes)
}
