//! The count that everybody asks for: how much waits. It is told by small numbers, however much it is.

use signoff_core::Tenant;
use signoff_core::request::RequestStatus;

use crate::RequestFilter;

/// All requests that wait, and no more is asked of them than whose they are and whether they were put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhatWaits<'a> {
    /// Of the local tenant.
    Here {
        /// Those that were put off are counted too.
        put_off_too: bool,
    },
    /// Of another one, without those that were put off.
    Of(&'a Tenant),
    /// Of everybody, without those that were put off.
    Anywhere,
}

impl<'a> WhatWaits<'a> {
    /// What a filter asks for, if it is that.
    pub(crate) fn of(filter: &'a RequestFilter) -> Option<Self> {
        let RequestFilter { status, kind, workflow, agent, root, conversation, .. } = filter;
        let RequestFilter { text, tenant, assigned, risk, asked_until, deferred, .. } = filter;
        let plain = *status == Some(RequestStatus::Pending)
            && (kind, agent, root, risk, text) == (&None, &None, &None, &None, &None)
            && (workflow, conversation, assigned) == (&None, &None, &None)
            && asked_until.is_none();
        match (tenant, deferred) {
            _ if !plain => None,
            (Some(tenant), None) if tenant.is_local() => Some(Self::Here { put_off_too: true }),
            (Some(tenant), Some(false)) if tenant.is_local() => {
                Some(Self::Here { put_off_too: false })
            }
            (Some(tenant), Some(false)) => Some(Self::Of(tenant)),
            (None, Some(false)) => Some(Self::Anywhere),
            (_, None | Some(true)) => None,
        }
    }

    /// The tenant to compare with.
    pub(crate) fn tenant(self) -> Option<&'a Tenant> {
        match self {
            Self::Of(tenant) => Some(tenant),
            Self::Here { .. } | Self::Anywhere => None,
        }
    }
}
