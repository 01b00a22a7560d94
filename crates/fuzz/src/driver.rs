//! Feeds a target with changed seeds. What it makes depends on a number only, so that what failed can be made again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::Target;

/// The longest input.
const MAX_LEN: usize = 8 * 1024;
/// What one input may take. Generous: the machine may be busy.
const SOON: Duration = Duration::from_secs(10);
/// Bytes that mean something to some decoder.
const TELLING: &[&[u8]] = &[
    b"\0",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\n",
    b"\r",
    b"\n\n",
    b"&a ",
    b"*a",
    b"!!",
    b"- ",
    b"null",
    b"1e999",
    b"-0",
    b"\\ud800",
    b"\xff",
    b"\xf0\x9f\x98\x80",
    b"data: ",
    b"event: ",
    b"|",
    b"```",
    b"\x1b[2J",
    b"18446744073709551616",
];

/// What was done.
#[derive(Clone, Copy, Debug)]
pub struct Driven {
    /// How many inputs there were.
    pub inputs: u64,
}

/// Feeds a target for so long, beginning with its seeds.
///
/// # Errors
///
/// Which input made it panic or take too long.
pub fn drive(target: &Target, seed: u64, time: Duration) -> Result<Driven, String> {
    let mut dice = Dice(seed | 1);
    let mut corpus: Vec<Vec<u8>> = target.seeds.iter().map(|it| it.as_bytes().to_vec()).collect();
    let mut inputs = 0;
    for seed in corpus.clone() {
        feed(target, &seed)?;
        inputs += 1;
    }
    let until = Instant::now() + time;
    while Instant::now() < until {
        let mut input = corpus[dice.below(corpus.len())].clone();
        for _ in 0..=dice.below(6) {
            change(&mut input, &corpus, &mut dice);
        }
        input.truncate(MAX_LEN);
        feed(target, &input)?;
        inputs += 1;
        // Some of what was made is gone on with, so that changes add up.
        if dice.below(50) == 0 {
            if corpus.len() > 200 {
                let place = target.seeds.len() + dice.below(corpus.len() - target.seeds.len());
                corpus[place] = input;
            } else {
                corpus.push(input);
            }
        }
    }
    Ok(Driven { inputs })
}

fn feed(target: &Target, input: &[u8]) -> Result<(), String> {
    let since = Instant::now();
    let panicked = catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err();
    let took = since.elapsed();
    if panicked || took > SOON {
        let why = if panicked { "panics".to_owned() } else { format!("takes {took:?}") };
        return Err(format!("{} {why} at {:?}", target.name, String::from_utf8_lossy(input)));
    }
    Ok(())
}

fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], dice: &mut Dice) {
    let place = dice.below(input.len() + 1);
    match dice.below(8) {
        0 if place < input.len() => input[place] ^= 1 << dice.below(8),
        1 if place < input.len() => drop(input.remove(place)),
        2 => input.insert(place, dice.byte()),
        3 => drop(input.splice(place..place, TELLING[dice.below(TELLING.len())].iter().copied())),
        4 => input.truncate(place),
        5 => {
            // A piece of itself once more, perhaps many times.
            let until = place + dice.below(input.len() - place + 1).min(64);
            let piece = input[place..until].repeat(1 + dice.below(20));
            drop(input.splice(place..place, piece));
        }
        6 => {
            let other = &corpus[dice.below(corpus.len())];
            let from = dice.below(other.len() + 1);
            input.truncate(place);
            input.extend_from_slice(&other[from..]);
        }
        _ => {
            let until = place + dice.below(input.len() - place + 1).min(32);
            drop(input.drain(place..until));
        }
    }
}

/// Numbers that look random, from a number (xorshift).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below a bound, which is above 0.
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap_or(0)
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}
