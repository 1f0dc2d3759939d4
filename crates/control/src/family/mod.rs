//! What a kind of controller brings to the catalog, and how a profile of it with overrides becomes both ends.
//!
//! `settings` are what overrides change, `parse` reads their values, and `clients` are ways to queue that profiles choose
//! among.

pub(crate) mod parse;
pub(crate) mod settings;
pub(crate) mod clients;

use crate::client::{Client, ClientConfig, Gate};
use crate::config_error::{ConfigError, within};
use crate::guard::{Guarded, Mode, Switch};
use crate::server::Admission;
use crate::site::Site;
use settings::{COMMON, Common, ControllerSetting, Key};
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::Rng;

/// A controller as the catalog knows it. `C` is its configuration, both ends' settings in one.
pub(crate) struct Family<C: 'static> {
    /// In scenarios and on the command line; also what its [`Admission::name`] says.
    pub(crate) name: &'static str,
    /// A line for people.
    pub(crate) summary: &'static str,
    /// Its profiles, `default` among them.
    pub(crate) profiles: &'static [Profile<C>],
    /// Tables of its own settings; those of all controllers need no mention.
    pub(crate) settings: &'static [&'static [Key<Draft<C>>]],
    /// Checks the configuration and builds the server's half.
    pub(crate) server: fn(&C, &Site) -> Built,
    /// The gate of one client; the number is a seed of that client's own.
    pub(crate) gate: fn(&C, u64) -> Box<dyn Gate>,
}

/// The server's half, or what is wrong with its configuration.
pub(crate) type Built = Result<Arc<dyn Admission>, ConfigError>;

/// A named starting point.
pub(crate) struct Profile<C: 'static> {
    pub(crate) name: &'static str,
    /// From what is known of the server.
    pub(crate) server: fn(&Site) -> C,
    /// How a client queues, from the objective.
    pub(crate) client: fn(Duration) -> ClientConfig,
}

/// A controller being put together.
pub(crate) struct Draft<C> {
    pub(crate) server: C,
    pub(crate) common: Common,
}

/// A controller, both ends.
#[derive(Clone)]
pub struct Controller {
    /// For the server; shared by its loops.
    pub admission: Arc<dyn Admission>,
    /// The live off switch of the server's half.
    pub switch: Arc<Switch>,
    client: ClientConfig,
    gate: Arc<dyn Fn(u64) -> Box<dyn Gate> + Send + Sync>,
}

impl Controller {
    /// A client's half, one per connection. `index` tells the clients of one run apart: those whose
    /// controller leaves something to chance draw differently for different numbers, and alike for
    /// the same.
    #[must_use]
    pub fn client(&self, index: u64) -> Client {
        Client::new(self.client, (self.gate)(index))
    }
}

/// A [`Family`] whatever its configuration.
pub(crate) trait AnyFamily: Sync {
    fn name(&self) -> &'static str;
    fn summary(&self) -> &'static str;
    fn profiles(&self) -> Vec<&'static str>;
    /// Its own, without the common ones.
    fn settings(&self) -> Vec<ControllerSetting>;
    /// The profile of this name with the overrides, applied in their order.
    fn build(&self, profile: &str, overrides: &Overrides, site: &Site)
    -> Result<Controller, Unfit>;
}

/// Setting and value.
pub(crate) type Overrides = [(String, String)];

/// Why a family cannot build what was asked for.
pub(crate) enum Unfit {
    /// It has no such profile.
    Profile,
    /// It has no setting of this name.
    Setting(String),
    /// The setting or controller at fault, and a sentence: what was found and what is needed.
    Value(String, String),
}

impl Unfit {
    fn value(culprit: &str, message: impl Into<String>) -> Self {
        Self::Value(culprit.into(), message.into())
    }
}

impl<C: Clone + Send + Sync + 'static> AnyFamily for Family<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn profiles(&self) -> Vec<&'static str> {
        self.profiles.iter().map(|profile| profile.name).collect()
    }

    fn settings(&self) -> Vec<ControllerSetting> {
        let all = self.settings.iter().copied().flatten();
        all.map(|key| ControllerSetting {
            name: key.name,
            help: key.help,
            controllers: vec![self.name],
        })
        .collect()
    }

    fn build(
        &self,
        profile: &str,
        overrides: &Overrides,
        site: &Site,
    ) -> Result<Controller, Unfit> {
        let draft = self.draft(profile, overrides, site)?;
        let Draft { server: config, common } = draft;
        within("shed_cap", common.shed_cap, 0.0..=1.0)
            .map_err(|error| Unfit::value(error.setting, error.to_string()))?;
        let inner = (self.server)(&config, site)
            .map_err(|error| Unfit::value(self.culprit(error.setting), error.to_string()))?;
        let switch = Arc::new(Switch::new(common.mode));
        let admission = Arc::new(Guarded::new(inner, Arc::clone(&switch), common.shed_cap));
        let (rng, gate) = (Rng::from_seed(site.seed), self.gate);
        let gate = move |index| gate(&config, rng.split(&format!("client {index}")).seed());
        Ok(Controller { admission, switch, client: common.client, gate: Arc::new(gate) })
    }
}

impl<C> Family<C> {
    /// The profile, and then the overrides in their order.
    fn draft(&self, profile: &str, overrides: &Overrides, site: &Site) -> Result<Draft<C>, Unfit> {
        let named = self.profiles.iter().find(|known| known.name == profile);
        let profile = named.ok_or(Unfit::Profile)?;
        let client = (profile.client)(site.slo);
        let common = Common { slo: site.slo, client, mode: Mode::Enforce, shed_cap: 1.0 };
        let mut draft = Draft { server: (profile.server)(site), common };
        for (key, value) in overrides {
            self.apply(&mut draft, key, value)?;
        }
        Ok(draft)
    }

    fn apply(&self, draft: &mut Draft<C>, name: &str, value: &str) -> Result<(), Unfit> {
        let own = self.settings.iter().copied().flatten().find(|key| key.name == name);
        let applied = if let Some(key) = own {
            (key.apply)(draft, value)
        } else if let Some(key) = COMMON.iter().find(|key| key.name == name) {
            (key.apply)(&mut draft.common, value)
        } else {
            return Err(Unfit::Setting(name.into()));
        };
        applied.map_err(|why| Unfit::value(name, format!("{name}: {why}")))
    }

    /// What a user can change of a setting at fault: the setting, or else the controller's profile.
    fn culprit(&self, setting: &'static str) -> &'static str {
        let known = self.settings.iter().copied().flatten().any(|key| key.name == setting);
        if known { setting } else { self.name }
    }
}
