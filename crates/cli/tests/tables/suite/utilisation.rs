//! Table 4.2 and Fig. 4.3 of the thesis: what a query takes of a core, and the kernel's share of that.

use super::{Load, Runs, Tier, dash, each, head, line, rate, time};

/// The unit, in seconds, in which `/proc/PID/stat` tells CPU time (`CLK_TCK` is 100).
const TICK_S: f64 = 0.01;

/// A line for each service, load and tier; latency is of the query and stands once for each load.
pub(crate) fn utilisation(result: &str) -> String {
    let heads = [
        "service",
        "load, queries/s",
        "tier",
        "core-ms of a query",
        "of one core",
        "of it in the kernel",
        "in user mode",
        "ticks of a run",
        "p50",
        "p99",
    ];
    let mut table = head(&heads.map(Into::into));
    for (stated, service) in each(result) {
        for Load { rps, plain, .. } in &service.loads {
            for (number, tier) in plain.tiers.iter().enumerate() {
                let latency = |us: f64| if number == 0 { time(us) } else { String::new() };
                let mut cells = vec![stated.name.into(), rate(*rps), tier.name().into()];
                cells.extend(of_tier(plain, tier));
                cells.extend([latency(plain.p50_us), latency(plain.p99_us)]);
                table += &line(&cells);
            }
        }
    }
    table
}

/// Core-ms, utilisation, both shares, and the ticks that they are of.
fn of_tier(runs: &Runs, tier: &Tier) -> [String; 5] {
    let core_ms = tier.per_query.get("core_ms").copied();
    let kernel = tier.per_query.get("kernel_percent").copied();
    let percent = |value: Option<f64>| value.map_or_else(dash, |of| format!("{of:.0} %"));
    let cores = core_ms.map(|ms| ms / 1e3 * runs.throughput_rps);
    // Fates are of all runs that count.
    let seconds = core_ms.map(|ms| ms / 1e3 * runs.fates.values().sum::<f64>() / runs.valid as f64);
    let ticks = seconds.filter(|it| *it > 0.0 && it.is_finite()).map(|it| it / TICK_S);
    [
        tier.shown("core_ms", 3),
        cores.map_or_else(dash, |cores| format!("{:.1} %", 100.0 * cores)),
        percent(kernel),
        percent(kernel.map(|share| 100.0 - share)),
        ticks.map_or_else(dash, |ticks| format!("{ticks:.0}")),
    ]
}

#[test]
fn a_share_stands_beside_the_ticks_that_it_is_of() {
    let result = r#"{"services":[{"service":"router","capacity":{"plateau_rps":40000,"points":[]},
        "loads":[{"rps":100,"of_capacity":0.0025,
         "plain":{"runs":3,"valid":2,"answered":1,"throughput_rps":101,"p50_us":150,"p99_us":400,"p999_us":900,
          "fates":{"ok":999,"lost":1},
          "tiers":[{"tier":"","per_query":{"core_ms":0.2,"kernel_percent":75}},{"tier":"leaf","per_query":{}}]},
         "watched":{"runs":0,"valid":0,"answered":1,"throughput_rps":0,"p50_us":0,"p99_us":0,"p999_us":0,"tiers":[]}}]}]}"#;
    let table = utilisation(result);
    for row in [
        "| Router | 100 | mid-tier | 0.200 | 2.0 % | 75 % | 25 % | 10 | 150 µs | 400 µs |\n",
        "| Router | 100 | leaf | – | – | – | – | – |  |  |\n",
    ] {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
    let older = utilisation(&result.replace(r#""fates":{"ok":999,"lost":1},"#, ""));
    assert!(older.contains("| 25 % | – | 150 µs |"), "{older}");
}
