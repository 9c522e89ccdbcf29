//! # uncoalesced-access
