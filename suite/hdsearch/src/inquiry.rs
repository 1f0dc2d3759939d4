//! The nearest of a point that people name: its own vector is asked for, and the oracle looks the answer up by definition.

use crate::check::Expected;
use crate::oracle::{self, LookUp};
use crate::prepared::Plan;
use crate::vectors::{Set, Source, explanations};
use crate::wire::{self, Answer, Query};
use std::collections::HashMap;
use tailwater_kernels::{Kernels, Level, Rows};
use tailwater_load::application::{Ask, Inquiry, ShownAnswer, ShownRow};

/// The set in memory, with what its index must find.
pub(crate) struct Nearest {
    set: Set,
    look_up: Box<dyn LookUp>,
    /// Names to vectors; empty where points have numbers alone.
    by_name: HashMap<String, Place>,
    /// What words mean, where the set says so.
    glosses: HashMap<String, String>,
    neighbours: u16,
    about: String,
}

/// Where a vector is.
#[derive(Clone, Copy)]
enum Place {
    Point(usize),
    /// Held out: it is no point, and is not found.
    Query(usize),
}

/// Longer names are cut in messages.
const NAME_CHARS_MAX: usize = 60;

impl Nearest {
    pub(crate) fn open(plan: &Plan) -> Result<Self, String> {
        let (set, look_up) = plan.open_look_up()?;
        let names = &set.names;
        let points = names.points.iter().enumerate().map(|(at, name)| (name, Place::Point(at)));
        let queries = names.queries.iter().enumerate().map(|(at, name)| (name, Place::Query(at)));
        // Of two that are the same in lower case, the first counts.
        let mut by_name = HashMap::with_capacity(names.points.len() + names.queries.len());
        for (name, place) in points.chain(queries) {
            by_name.entry(name.to_lowercase()).or_insert(place);
        }
        let about = format!("{}, {}", plan.wanted.about(&set), plan.wanted.from());
        let glosses = match &plan.wanted.source {
            Source::WordNet(folder) => explanations(folder)?,
            Source::Generated(_) | Source::Text(_) => HashMap::new(),
        };
        Ok(Self { set, look_up, by_name, glosses, neighbours: plan.neighbours, about })
    }

    fn place(&self, text: &str) -> Result<Place, String> {
        let asked = text.trim().to_lowercase();
        let cut: String = asked.chars().take(NAME_CHARS_MAX).collect();
        let points = self.set.points.rows().count();
        if self.by_name.is_empty() {
            let number = asked.parse().ok().filter(|&number| number < points);
            return number.map(Place::Point).ok_or_else(|| {
                format!("found no point {cut}; a number from 0 to {} is needed", points - 1)
            });
        }
        let found = self.by_name.get(&asked).copied();
        found.ok_or_else(|| format!("found no word \"{cut}\" among {points}; another is needed"))
    }

    fn row(&self, place: Place) -> &[f32] {
        match place {
            Place::Point(at) => self.set.points.rows().row(at),
            Place::Query(at) => self.set.queries.rows().row(at),
        }
    }

    fn name(&self, point: u32) -> String {
        let name = self.set.names.points.get(point as usize).cloned();
        name.unwrap_or_else(|| format!("point {point}"))
    }

    /// By plain code, without the service.
    fn expected(&self, row: &[f32]) -> Expected {
        let candidates = self.look_up.candidates(row);
        let each = candidates.iter().copied();
        let found = oracle::nearest_of(self.points(), row, each, self.neighbours.into());
        Expected { candidates: candidates.len() as u32, found }
    }

    fn points(&self) -> Rows<'_> {
        self.set.points.rows()
    }

    fn findings(&self, row: &[f32], answer: &Answer) -> ShownAnswer {
        let scalar = Kernels::up_to(Level::Scalar);
        let distance = |point: u32| {
            let is_there = (point as usize) < self.points().count();
            is_there.then(|| scalar.squared_distance(row, self.points().row(point as usize)))
        };
        let wrong = self.expected(row).check(answer, distance).err().map(|wrong| wrong.to_string());
        let count = self.points().count();
        let summary = format!(
            "{} nearest of {} candidates, {:.2} % of {count} points",
            answer.found.len(),
            answer.candidates,
            100.0 * f64::from(answer.candidates) / count as f64
        );
        let finding = |found: &crate::nearest::Found| {
            let name = self.name(found.point);
            let text = self.glosses.get(&name.to_lowercase()).cloned().unwrap_or_default();
            let measure = format!("distance {:.3}", found.distance.sqrt());
            ShownRow { name, text, measure, asks: true }
        };
        ShownAnswer { wrong, summary, rows: answer.found.iter().map(finding).collect() }
    }
}

impl Inquiry for Nearest {
    fn about(&self) -> String {
        self.about.clone()
    }

    fn examples(&self) -> Vec<String> {
        const LIKELY: [&str; 5] = ["violin", "chess", "boat", "guitar", "photosynthesis"];
        let known = LIKELY.iter().filter(|word| self.by_name.contains_key(**word));
        let known: Vec<String> = known.map(|word| (*word).to_owned()).collect();
        let parts = [1, 3, 5, 7].map(|eighths| self.points().count() * eighths / 8);
        match (known.is_empty(), self.by_name.is_empty()) {
            (false, _) => known,
            (true, false) => parts.map(|at| self.name(at as u32)).to_vec(),
            (true, true) => parts.map(|at| at.to_string()).to_vec(),
        }
    }

    fn ask(&self, text: &str, tag: u64) -> Result<Ask, String> {
        let dimensions = self.points().dimensions();
        let vector = self.row(self.place(text)?)[..dimensions].to_vec();
        let query = Query { neighbours: self.neighbours, vector };
        Ok(Ask { method: wire::SEARCH, payload: wire::request(tag, &query) })
    }

    fn read(&self, text: &str, tag: u64, (status, payload): (u16, &[u8])) -> ShownAnswer {
        let answer = wire::read_answer(payload).filter(|answer| status == 0 && answer.tag == tag);
        match (self.place(text), answer) {
            (Ok(place), Some(answer)) => self.findings(self.row(place), &answer),
            (Err(why), _) => ShownAnswer::none(why),
            (_, None) => {
                ShownAnswer::none(format!("found no answer to it, and the status {status}"))
            }
        }
    }
}
