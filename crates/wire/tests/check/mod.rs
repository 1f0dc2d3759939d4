//! What must hold for any bytes whatever; shared by `fuzz/` and by the test that replays its corpus.

use tailwater_wire::{
    ClientFrame, DecodeError, FrameKind, GOODBYE_TEXT_MAX, Limits, PREFIX_LEN, ServerFrame, Side,
    decode_from_client, decode_from_server, needed,
};

/// Bytes of GOODBYE's count, where its flag is set.
const TAKEN: usize = 8;

/// Reads `bytes` as a stream from either side, under the tightest and the default limit, and
/// panics when a frame breaks a promise. Returns how many frames there were.
pub(crate) fn wire_frame(bytes: &[u8]) -> usize {
    [Limits::new(Limits::FLOOR), Limits::default()]
        .iter()
        .map(|limits| stream(bytes, Side::Client, limits) + stream(bytes, Side::Server, limits))
        .sum()
}

fn stream(mut bytes: &[u8], from: Side, limits: &Limits) -> usize {
    let mut frames = 0;
    while let Ok(Some((consumed, again))) = recode(bytes, from, limits) {
        assert!(consumed >= PREFIX_LEN && consumed <= limits.max_frame() as usize);
        assert_eq!(needed(bytes, from, limits), Ok(consumed), "needed and decode agree");
        assert_eq!(again, canonical(&bytes[..consumed]), "encoding returns the bytes");
        let once = recode(&again, from, limits).expect("our own bytes decode");
        assert_eq!(once, Some((again.len(), again)), "encoding is a fixed point");
        for shorter in [0, 1, PREFIX_LEN - 1, PREFIX_LEN, consumed / 2, consumed - 1] {
            let cut = &bytes[..shorter.min(consumed - 1)];
            assert_eq!(recode(cut, from, limits), Ok(None), "{} bytes of it wait", cut.len());
        }
        bytes = &bytes[consumed..];
        frames += 1;
    }
    check_refusal(bytes, from, limits);
    frames
}

/// Decodes one frame and encodes its value again.
fn recode(
    bytes: &[u8],
    from: Side,
    limits: &Limits,
) -> Result<Option<(usize, Vec<u8>)>, DecodeError> {
    let mut again = Vec::new();
    let consumed = match from {
        Side::Client => decode_from_client(bytes, limits)?.map(|(frame, consumed)| {
            ClientFrame::encode(&frame, limits, &mut again).expect("it came within the limits");
            consumed
        }),
        Side::Server => decode_from_server(bytes, limits)?.map(|(frame, consumed)| {
            ServerFrame::encode(&frame, limits, &mut again).expect("it came within the limits");
            consumed
        }),
    };
    Ok(consumed.map(|consumed| (consumed, again)))
}

/// A refusal has a message, and what waits for more bytes asks for a bounded number of them.
fn check_refusal(bytes: &[u8], from: Side, limits: &Limits) {
    match recode(bytes, from, limits) {
        Err(error) => assert!(error.to_string().contains(&error.offset().to_string())),
        Ok(rest) => {
            assert_eq!(rest, None);
            let more = needed(bytes, from, limits).expect("needed refuses only what decode does");
            assert!(more > bytes.len() && more <= limits.max_frame() as usize);
        }
    }
}

/// What the specification says a receiver ignores, set to what a sender must write: written from
/// the tables of `docs/protocol.md`, not from the code.
fn canonical(frame: &[u8]) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    let kind = FrameKind::from_byte(bytes[4]).expect("it was decoded");
    bytes[5] &= u8::from(matches!(kind, FrameKind::Request | FrameKind::Goodbye));
    let ignored: &[(usize, usize)] = match kind {
        FrameKind::Hello => &[(6, 8)],
        FrameKind::Request if bytes[28..32] == [0xff; 4] => &[(24, 28), (45, 48)],
        FrameKind::Request => &[(45, 48)],
        FrameKind::Welcome | FrameKind::Response | FrameKind::Reject | FrameKind::Goodbye => &[],
        FrameKind::Credit
        | FrameKind::Demand
        | FrameKind::Deregister
        | FrameKind::Cancel
        | FrameKind::Ping
        | FrameKind::Pong => &[(6, 8)],
    };
    for &(from, to) in ignored {
        bytes[from..to].fill(0);
    }
    match kind {
        FrameKind::Hello => bytes.truncate(36),
        FrameKind::Goodbye => {
            bytes[5] &= u8::from(bytes.len() >= PREFIX_LEN + TAKEN);
            let text = PREFIX_LEN + TAKEN * usize::from(bytes[5]);
            let valid = match std::str::from_utf8(&frame[text..]) {
                Ok(text) => text,
                Err(error) => {
                    std::str::from_utf8(&frame[text..text + error.valid_up_to()]).unwrap()
                }
            };
            bytes.truncate(text + valid.floor_char_boundary(GOODBYE_TEXT_MAX));
        }
        _ => {}
    }
    let len = u32::try_from(bytes.len()).expect("within the limits");
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    bytes
}
