//! Setting of the guardrail.

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

use super::{DeliveryConfig, InstanceVerb, RouteConfig};
use crate::deliverability::GuardrailMode;

/// Setting of the guardrail as clap parses it.
#[derive(Args, Clone, Debug)]
pub(super) struct GuardrailSettings {
    /// Refuse new sends of a team while too many of its emails bounce or are reported as spam: on or off [default: on; off
    /// in ringmail dev and with --delivery capture].
    #[arg(long, env = "RINGMAIL_GUARDRAIL", value_name = "BOOL", value_parser = BoolishValueParser::new(),
          action = ArgAction::Set, help_heading = "Delivering")]
    guardrail: Option<bool>,
}

impl GuardrailSettings {
    /// Returns the setting, or the default: a server whose emails do not leave the machine refuses none.
    pub(super) fn into_mode(
        self,
        purpose: &InstanceVerb,
        delivery: &DeliveryConfig,
        routes: &RouteConfig,
    ) -> GuardrailMode {
        let delivers = *delivery != DeliveryConfig::Capture || routes.delivers();
        let is_on = self.guardrail.unwrap_or(matches!(purpose, InstanceVerb::Serve) && delivers);
        if is_on { GuardrailMode::Enforce } else { GuardrailMode::Observe }
    }
}
