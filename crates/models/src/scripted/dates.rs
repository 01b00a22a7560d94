//! Filters that plans need and Jinja lacks: days of the calendar, and sums of money one can read.

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};
use minijinja::{Environment, Error, ErrorKind, Value};

pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("plus_days", plus_days);
    environment.add_filter("on_or_after", on_or_after);
    environment.add_filter("long_date", long_date);
    environment.add_filter("thousands", thousands);
    environment.add_test("date", is_date);
}

/// `"2026-11-15" | plus_days(21)`.
fn plus_days(date: &str, days: i32) -> Result<String, Error> {
    let later = parse(date)?.checked_add(days.days()).map_err(|error| wrong(error.to_string()))?;
    Ok(later.to_string())
}

/// `"2026-11-15" | on_or_after("friday")`: that day, if it is a Friday already.
fn on_or_after(date: &str, weekday: &str) -> Result<String, Error> {
    let weekday = match weekday.to_ascii_lowercase().as_str() {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        other => return Err(wrong(format!("`{other}` is not a day of the week"))),
    };
    let date = parse(date)?;
    let days = i64::from(date.weekday().until(weekday));
    let day = date.checked_add(days.days()).map_err(|error| wrong(error.to_string()))?;
    Ok(day.to_string())
}

/// `"2026-11-20" | long_date` is `Friday, 20 November 2026`.
fn long_date(date: &str) -> Result<String, Error> {
    Ok(parse(date)?.strftime("%A, %-d %B %Y").to_string())
}

/// `"2026-02-30" is date` is false, as it is of anything that is no text.
fn is_date(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.parse::<Date>().is_ok())
}

/// `12500 | thousands` is `12,500`; parts of a unit are kept to two digits where there are any.
fn thousands(value: &Value) -> Result<String, Error> {
    let number = f64::try_from(value.clone())?;
    let text = format!("{:.2}", number.abs());
    let text = text.strip_suffix(".00").unwrap_or(&text);
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if number < 0.0 { "-" } else { "" };
    Ok(format!("{sign}{grouped}{rest}"))
}

fn parse(date: &str) -> Result<Date, Error> {
    date.parse().map_err(|_| wrong(format!("`{date}` is not a day; write 2026-11-20")))
}

fn wrong(problem: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted() {
        assert_eq!(plus_days("2026-11-15", 21).unwrap(), "2026-12-06");
        assert_eq!(on_or_after("2026-11-15", "Friday").unwrap(), "2026-11-20");
        assert_eq!(on_or_after("2026-11-20", "friday").unwrap(), "2026-11-20");
        assert_eq!(long_date("2026-11-20").unwrap(), "Friday, 20 November 2026");
        assert!(plus_days("soon", 1).is_err() && on_or_after("2026-11-20", "someday").is_err());
        assert!(plus_days("9999-12-31", 1).is_err());
    }

    #[test]
    fn money_is_readable() {
        let cases = [
            (0.0, "0"),
            (750.0, "750"),
            (1500.0, "1,500"),
            (1_234_567.5, "1,234,567.50"),
            (-1000.0, "-1,000"),
        ];
        for (number, text) in cases {
            assert_eq!(thousands(&Value::from(number)).unwrap(), text);
        }
        assert!(thousands(&Value::from("much")).is_err());
    }
}
