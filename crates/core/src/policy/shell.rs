//! A shell command, split into the programs it runs. What cannot be split for certain is said to be opaque, and whoever
//! judges it asks.

use serde::Serialize;

/// One program of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Its words, the program first.
    pub words: Vec<String>,
    /// Files its output is written to.
    pub writes: Vec<String>,
}

/// The programs that a command line runs, in order; or why that cannot be told.
pub fn split(line: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut part = Part::default();
    // Where the next word goes.
    let mut to_file = false;
    let mut word: Option<String> = None;
    let mut letters = line.chars().peekable();
    macro_rules! end_word {
        () => {
            if let Some(done) = word.take() {
                if std::mem::take(&mut to_file) {
                    part.writes.push(done);
                } else {
                    part.words.push(done);
                }
            }
        };
    }
    macro_rules! end_part {
        () => {
            end_word!();
            if to_file {
                return Err("output goes nowhere".to_owned());
            }
            if part != Part::default() {
                parts.push(std::mem::take(&mut part));
            }
        };
    }
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                let text = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some('\'') => break,
                        Some(letter) => text.push(letter),
                        None => return Err("a quote is not closed".to_owned()),
                    }
                }
            }
            '"' => {
                let text = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some('"') => break,
                        Some('$' | '`') => {
                            return Err("it depends on what a shell puts in".to_owned());
                        }
                        Some('\\') => match letters.next() {
                            Some(letter @ ('"' | '\\' | '$' | '`')) => text.push(letter),
                            Some('\n') => {}
                            Some(letter) => text.extend(['\\', letter]),
                            None => return Err("a quote is not closed".to_owned()),
                        },
                        Some(letter) => text.push(letter),
                        None => return Err("a quote is not closed".to_owned()),
                    }
                }
            }
            '\\' => match letters.next() {
                Some('\n') => {}
                Some(letter) => word.get_or_insert_default().push(letter),
                None => return Err("it ends in the middle of a word".to_owned()),
            },
            '$' | '`' | '(' | ')' | '{' | '}' | '*' | '?' | '[' | '~' | '<' => {
                return Err(format!("it depends on what a shell makes of `{letter}`"));
            }
            '#' if word.is_none() => while letters.next_if(|letter| *letter != '\n').is_some() {},
            '>' => {
                // `2>` and `&>`: the number is no word of its own.
                if word.as_ref().is_some_and(|it| it.chars().all(|c| c.is_ascii_digit())) {
                    word = None;
                }
                end_word!();
                letters.next_if_eq(&'>');
                if letters.next_if_eq(&'&').is_some() {
                    // To another of its own outputs: nothing is written.
                    while letters
                        .next_if(|letter| letter.is_ascii_digit() || *letter == '-')
                        .is_some()
                    {}
                    continue;
                }
                letters.next_if_eq(&'|');
                if to_file {
                    return Err("output goes nowhere".to_owned());
                }
                to_file = true;
            }
            '&' if letters.peek() == Some(&'>') => end_word!(),
            '&' | '|' | ';' | '\n' => {
                end_part!();
                letters.next_if(|next| matches!((letter, *next), ('&', '&') | ('|', '|' | '&')));
            }
            letter if letter.is_whitespace() => end_word!(),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    end_part!();
    for part in &parts {
        known(part)?;
    }
    Ok(parts)
}

/// The programs that a list of words runs, the program first and no shell between; or why that cannot be told. A shell
/// that is given a line runs the programs of that line.
pub fn see_through(words: &[String]) -> Result<Vec<Part>, String> {
    let program = words.first().map_or("", |first| first.rsplit('/').next().unwrap_or(first));
    if let (true, [_, flag, line]) = (SHELLS.contains(&program), words)
        && flag == "-c"
    {
        return split(line);
    }
    let part = Part { words: words.to_vec(), writes: Vec::new() };
    known(&part)?;
    Ok(vec![part])
}

/// Programs that take a command line.
const SHELLS: [&str; 5] = ["sh", "bash", "zsh", "dash", "ksh"];

/// Programs that run others, given as text or found by themselves.
const WRAPPERS: [&str; 22] = [
    "sh", "bash", "zsh", "dash", "ksh", "fish", "eval", "exec", "source", ".", "env", "xargs",
    "sudo", "doas", "su", "nohup", "time", "timeout", "watch", "ssh", "parallel", "command",
];

fn known(part: &Part) -> Result<(), String> {
    let Some(first) = part.words.first() else { return Ok(()) };
    if first.contains('=') {
        return Err(format!("`{first}` changes what the program finds"));
    }
    let program = first.rsplit('/').next().unwrap_or(first);
    if WRAPPERS.contains(&program) {
        return Err(format!("`{program}` runs another program"));
    }
    let runs = |word: &String| ["-exec", "-execdir", "-ok", "-delete"].contains(&word.as_str());
    if program == "find" && part.words.iter().any(runs) {
        return Err("`find` runs another program, or deletes".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Vec<String>> {
        split(line).unwrap().into_iter().map(|part| part.words).collect()
    }

    #[test]
    fn every_program_is_found() {
        assert_eq!(words("ls -l"), [["ls", "-l"]]);
        assert_eq!(
            words("a && b || c; d | e & f\ng"),
            [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]
        );
        assert_eq!(words("echo 'a && b' \"c | d\" e\\ f"), [["echo", "a && b", "c | d", "e f"]]);
        assert_eq!(words("a |& b"), [["a"], ["b"]]);
        assert_eq!(words("ls # rm -rf x"), [["ls"]]);
        assert_eq!(words("  "), Vec::<Vec<String>>::new());
        assert_eq!(words("echo a#b"), [["echo", "a#b"]]);
    }

    #[test]
    fn what_is_written_is_found() {
        let writes = |line: &str| split(line).unwrap().remove(0).writes;
        assert_eq!(writes("echo hi > a.txt"), ["a.txt"]);
        assert_eq!(writes("echo hi >>a.txt 2>&1"), ["a.txt"]);
        assert_eq!(writes("echo hi >| a.txt 2> b"), ["a.txt", "b"]);
        assert_eq!(writes("make &> log"), ["log"]);
        assert!(writes("echo '>' a").is_empty());
        assert!(writes("echo hi 2>&1").is_empty());
    }

    #[test]
    fn a_shell_is_seen_through() {
        let words = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            see_through(&words)
        };
        assert_eq!(words(&["ls", "a b"]).unwrap()[0].words, ["ls", "a b"]);
        let parts = words(&["/bin/bash", "-c", "ls; echo x > a"]).unwrap();
        assert_eq!((parts.len(), &parts[1].writes[0][..]), (2, "a"));
        for opaque in [&["bash", "x.sh"][..], &["sudo", "ls"], &["sh", "-c", "$X"], &["env", "ls"]]
        {
            assert!(words(opaque).is_err(), "{opaque:?}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        for line in [
            "rm $FILE",
            "echo `id`",
            "echo $(id)",
            "(a; b)",
            "{ a; }",
            "rm *",
            "rm a?",
            "rm [ab]",
            "cd ~",
            "cat < a",
            "echo \"$X\"",
            "echo 'a",
            "echo \"a",
            "echo a\\",
            "bash -c 'rm x'",
            "/bin/sh x",
            "sudo rm x",
            "PATH=. ls",
            "env rm x",
            "xargs rm",
            "eval x",
            "find . -delete",
            "find . -exec rm x",
            "echo a >",
            "a > > b",
        ] {
            assert!(split(line).is_err(), "{line}: {:?}", split(line));
        }
    }
}
