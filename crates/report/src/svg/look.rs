//! How much room a picture has, and what of it.

/// How pictures are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Whether title and subtitle stand inside. Without them a picture fits a paper, whose caption says the same.
    pub titled: bool,
    /// How wide it is.
    pub width: Width,
}

/// See [`Look::width`]. Text has the same size in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// 720 units: half of a wide window, or a column of text.
    Wide,
    /// 400 units: a phone held upright.
    Narrow,
}

impl Look {
    /// A picture that stands alone.
    pub const WHOLE: Self = Self { titled: true, width: Width::Wide };
    /// One whose title stands beside it.
    pub const BARE: Self = Self { titled: false, width: Width::Wide };
    /// The same on a phone.
    pub(crate) const NARROW: Self = Self { titled: false, width: Width::Narrow };

    /// In user units.
    pub(crate) const fn units(self) -> f64 {
        match self.width {
            Width::Wide => 720.0,
            Width::Narrow => 400.0,
        }
    }

    /// What is cut off above, where there is no title.
    pub(crate) const fn cut(self) -> f64 {
        if self.titled { 0.0 } else { 50.0 }
    }
}
