//! Defects of walking requests, which tests plant and checks must find.

/// What is wrong with a node's walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Planted {
    /// A refused request keeps its locks.
    KeepsLocks,
    /// The end of a lock's step is passed over.
    ForgetsToRelease,
    /// A lock that is taken is taken as well.
    TakesTheTaken,
    /// A released lock is not handed over.
    LosesWakeUps,
    /// The wait for a lock is not deducted.
    ForgetsWaits,
    /// The wait in the run queue is not deducted.
    ForgetsTheRunQueue,
    /// Nobody gives up although he should.
    NeverGivesUp,
    /// The caller is not told of an answer.
    LosesAnswers,
    /// The first of several answers wakes the caller.
    WakesEarly,
    /// The last answer does not wake the caller.
    ForgetsToWake,
    /// A caller whose connection is lost waits on.
    MissesTheLoss,
    /// A caller hears of each loss twice.
    HearsOfLossTwice,
    /// A process that dies leaves the calls behind that it had not sent.
    LeavesCallsBehind,
    /// A request goes again to where it was refused.
    TriesTheSame,
    /// Sheds are tried again whatever the budget.
    ForgetsTheBudget,
    /// Whether there is time left is not asked.
    TriesTooLate,
    /// A request that should be tried again is forgotten.
    LosesTheRetried,
}

/// At most one defect; outside of tests, none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flaw {
    #[cfg(test)]
    planted: Option<Planted>,
}

#[cfg(test)]
impl Flaw {
    pub(crate) const fn of(planted: Planted) -> Self {
        Self { planted: Some(planted) }
    }

    pub(crate) fn is(self, defect: Planted) -> bool {
        self.planted == Some(defect)
    }
}

#[cfg(not(test))]
impl Flaw {
    #[expect(clippy::unused_self, reason = "tests plant defects")]
    pub(crate) const fn is(self, _: Planted) -> bool {
        false
    }
}
