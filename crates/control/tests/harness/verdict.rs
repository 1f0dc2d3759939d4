//! What a server may answer to a request.

use super::ledger::Judgement;
use super::server::{Scene, Server};
use super::setup::{Guard, SHED_BURST, SHED_CAP, THRESHOLD};
use super::{Breach, breach};
use std::time::Duration;
use tailwater_control::guard::Mode;
use tailwater_control::{Reason, Verdict};
use tailwater_core::SessionId;

impl Server {
    /// AQM, dry run and cap; `delay` on arrival only.
    pub(super) fn check_verdict(
        &mut self,
        scene: &Scene<'_>,
        verdict: Verdict,
        delay: Option<Duration>,
    ) -> Result<(), Breach> {
        let late = delay.is_some_and(|delay| delay >= THRESHOLD);
        match verdict {
            Verdict::Admit
                if late && scene.rules.always_enforced && scene.rules.guard != Guard::Cap =>
            {
                return breach(format!("admitted at a delay of {delay:?}"));
            }
            Verdict::Admit | Verdict::Shed(Reason::NoCredit) | Verdict::Close(Reason::NoCredit) => {
            }
            Verdict::Shed(Reason::Delay) if !late => {
                return breach(format!("shed at a delay of {delay:?}"));
            }
            Verdict::Shed(Reason::Delay | Reason::Deadline) => self.shed += 1.0,
            other => return breach(format!("{other:?} is no answer of this controller")),
        }
        if scene.mode != Mode::Enforce && verdict != Verdict::Admit {
            return breach(format!("{verdict:?} while nothing is enforced"));
        }
        let most = SHED_BURST + SHED_CAP * self.requests;
        if scene.rules.guard == Guard::Cap && self.shed > most {
            return breach(format!("{} of {} shed under the cap", self.shed, self.requests));
        }
        Ok(())
    }

    /// Sending without credit is refused, sending with credit is not, and an honest client always
    /// has credit.
    pub(super) fn check_credit(
        &mut self,
        scene: &Scene<'_>,
        session: SessionId,
        judgement: Judgement,
        verdict: Verdict,
        honest: bool,
    ) -> Result<(), Breach> {
        let refused = matches!(verdict, Verdict::Shed(Reason::NoCredit) | Verdict::Close(_));
        let account = self.account(session);
        match judgement {
            Judgement::Proper if refused => {
                return breach(format!("{verdict:?} to a request with credit: {account:?}"));
            }
            _ if refused && honest => {
                return breach(format!("{verdict:?} to an honest client: {account:?}"));
            }
            Judgement::Violation if !refused && scene.rules.always_enforced => {
                return breach(format!("{verdict:?} to a violation: {account:?}"));
            }
            _ => {}
        }
        if refused {
            account.refuse(matches!(verdict, Verdict::Close(_)))
        } else {
            account.accept();
            Ok(())
        }
    }
}
