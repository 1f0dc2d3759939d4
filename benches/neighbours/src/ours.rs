//! HDSearch's indexes, by the one thread that is mid-tier and leaves in turn; every answer is checked there.

use crate::{Known, NEIGHBOURS, Row, SEED};
use tailwater_hdsearch::frontier::{Bench, Built, Grid};

/// As many as the service has.
const LEAVES: u32 = 4;

pub(crate) fn rows(known: &Known) -> Result<Vec<Row>, String> {
    let points = known.set.points.rows();
    let bench = Bench::new(&known.set, &known.truth, NEIGHBOURS as u16, LEAVES);
    let bits = (points.count().max(64) / 12).ilog2() as usize;
    let lists = (points.count() / 400).max(2);
    let grid = Grid {
        bits: vec![bits],
        tables: vec![16],
        lsh_probes: vec![4, 8, 12, 16, 24, 32, 48, 64, 96, 128],
        lists: vec![lists],
        ivf_probes: vec![2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192],
    };
    let mut rows = Vec::new();
    for build in grid.builds() {
        let Built { order, tried } = grid.build(&build, points, bench.placement, SEED)?;
        let tiers = bench.tiers(&order).map_err(|why| why.to_string())?;
        for tried in tried {
            let index = if tried.name == "lsh" { "tailwater LSH" } else { "tailwater IVF" };
            let found = bench.measure(&tiers, tried).map_err(|why| why.to_string())?;
            rows.push(Row {
                index,
                settings: found.settings,
                recall_10: found.quality.recall_10,
                p50_us: found.compute_us.p50,
                p99_us: found.compute_us.p99,
            });
        }
    }
    Ok(rows)
}
