//! What is asked of one replica alone, and what is said of each node.

use super::ledger::Asked;
use super::node::Node;
use super::{Nodes, Refusal, Ticket};

impl Nodes {
    /// Asks the replica at this place, and no other, for the value of a key. It goes by the connection of the key's writes: all
    /// replicas that are asked in one turn answer between the same two writes.
    pub(crate) fn get_of(
        &mut self,
        place: usize,
        ticket: Ticket,
        key: &[u8],
    ) -> Result<(), Refusal> {
        let node = self.placement.of(key).nodes()[place];
        // All were tried, as far as this get goes: none is asked in its place.
        let tried = u8::MAX >> (8 - self.replicas());
        let (asks, flight) = (1_u8 << place, None);
        let key = key.into();
        let asked = Asked { ticket, key, with_cas: false, asks, tried, missed: 0, flight };
        self.make_room_for(node, &asked)?;
        self.send(node, asked);
        Ok(())
    }

    /// Of each node whether it may be asked.
    pub(crate) fn are_up(&self) -> impl Iterator<Item = bool> {
        self.all.iter().map(Node::is_up)
    }

    /// Whether each replica of a key may have lost what it had: that none has a value says nothing then.
    pub(crate) fn may_have_lost(&self, key: &[u8]) -> bool {
        let replicas = self.placement.of(key);
        replicas.nodes().iter().all(|node| self.all[usize::from(*node)].standing.is_cold())
    }
}
