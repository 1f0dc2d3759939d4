//! Which instructions this processor has.

use std::fmt;
use std::str::FromStr;

/// Instructions that kernels may use, the plainest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// What every processor has.
    Scalar,
    /// SSE4.1: 128 bits.
    Sse41,
    /// AVX2: 256 bits.
    Avx2,
    /// AVX-512 F: 512 bits.
    Avx512,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Sse41, Self::Avx2, Self::Avx512];

    /// Whether this processor has its instructions.
    #[must_use]
    pub fn is_here(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return match self {
            Self::Scalar => true,
            Self::Sse41 => is_x86_feature_detected!("sse4.1"),
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            Self::Avx512 => is_x86_feature_detected!("avx512f"),
        };
        #[cfg(not(target_arch = "x86_64"))]
        return self == Self::Scalar;
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Sse41 => "sse4.1",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|level| level.name() == text);
        known.ok_or_else(|| {
            format!("found \"{text}\"; one of scalar, sse4.1, avx2, avx512 is needed")
        })
    }
}
