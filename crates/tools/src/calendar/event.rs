//! An event between its JSON and its lines in a file.

use jiff::ToSpan;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use signoff_core::Timestamp;

use super::ics::{Property, escape};

/// An event, as far as the tools know it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) uid: String,
    pub(super) title: String,
    pub(super) start: Moment,
    pub(super) end: Option<Moment>,
    pub(super) location: Option<String>,
    pub(super) description: Option<String>,
}

/// When something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// A point in time.
    Utc(DateTime),
    /// A time of day at the place of the event; with a zone, if another program wrote one.
    Local(DateTime, Option<String>),
    /// A whole day.
    Day(Date),
}

impl Moment {
    /// Reads a time as an agent writes it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(at) = text.parse::<jiff::Timestamp>() {
            return Ok(Self::Utc(TimeZone::UTC.to_datetime(at)));
        }
        // A bare date would silently become midnight.
        text.parse::<DateTime>()
            .ok()
            .filter(|_| text.contains(['T', 't', ' ']))
            .map(|local| Self::Local(local, None))
            .ok_or_else(|| {
                format!("`{text}` is not a time; write 2026-11-20T18:00, or with an offset 2026-11-20T18:00-08:00")
            })
    }

    /// The time `minutes` later.
    pub(super) fn plus_minutes(&self, minutes: u32) -> Result<Self, String> {
        let later = |at: DateTime| {
            at.checked_add(i64::from(minutes).minutes())
                .map_err(|_| format!("{at} is too late a time"))
        };
        Ok(match self {
            Self::Utc(at) => Self::Utc(later(*at)?),
            Self::Local(at, zone) => Self::Local(later(*at)?, zone.clone()),
            Self::Day(day) => Self::Local(later(day.at(0, 0, 0, 0))?, None),
        })
    }

    pub(super) fn date(&self) -> Date {
        match self {
            Self::Utc(at) | Self::Local(at, _) => at.date(),
            Self::Day(day) => *day,
        }
    }

    pub(super) fn sort_key(&self) -> DateTime {
        match self {
            Self::Utc(at) | Self::Local(at, _) => *at,
            Self::Day(day) => day.at(0, 0, 0, 0),
        }
    }

    fn read(property: &Property) -> Option<Self> {
        let value = property.value.as_str();
        if property.parameter("VALUE").is_some_and(|kind| kind.eq_ignore_ascii_case("DATE"))
            || value.len() == 8
        {
            return Date::strptime("%Y%m%d", value).ok().map(Self::Day);
        }
        match value.strip_suffix('Z') {
            Some(at) => DateTime::strptime("%Y%m%dT%H%M%S", at).ok().map(Self::Utc),
            None => DateTime::strptime("%Y%m%dT%H%M%S", value)
                .ok()
                .map(|at| Self::Local(at, property.parameter("TZID").map(str::to_owned))),
        }
    }

    fn line(&self, name: &str) -> String {
        match self {
            Self::Utc(at) => format!("{name}:{}Z", at.strftime("%Y%m%dT%H%M%S")),
            Self::Local(at, _) => format!("{name}:{}", at.strftime("%Y%m%dT%H%M%S")),
            Self::Day(day) => format!("{name};VALUE=DATE:{}", day.strftime("%Y%m%d")),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Utc(at) => format!("{at}Z"),
            Self::Local(at, None) => at.to_string(),
            Self::Local(at, Some(zone)) => format!("{at}[{zone}]"),
            Self::Day(day) => day.to_string(),
        }
    }
}

/// Reads a day, `2026-11-20`.
pub(super) fn day(text: &str) -> Result<Date, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is not a day; write 2026-11-20"))
}

impl Event {
    /// The event in the properties of a `VEVENT`; none, if it has no uid or no start.
    pub(super) fn read(lines: &[String]) -> Option<Self> {
        // An alarm inside has properties of the same names.
        let mut inner = 0;
        let mut own =
            lines.iter().filter_map(|line| Property::parse(line)).filter(move |property| {
                if property.name == "BEGIN" {
                    inner += 1;
                }
                let is_own = inner == 1;
                if property.name == "END" {
                    inner -= 1;
                }
                is_own
            });
        let (mut uid, mut title, mut start, mut end, mut location, mut description) =
            (None, None, None, None, None, None);
        for property in &mut own {
            let text = || Some(property.text());
            match property.name.as_str() {
                "UID" => uid = text(),
                "SUMMARY" => title = text(),
                "LOCATION" => location = text(),
                "DESCRIPTION" => description = text(),
                "DTSTART" => start = Moment::read(&property),
                "DTEND" => end = Moment::read(&property),
                _ => {}
            }
        }
        Some(Self {
            uid: uid?,
            title: title.unwrap_or_default(),
            start: start?,
            end,
            location,
            description,
        })
    }

    /// The event as unfolded lines, made at `now`.
    pub(super) fn lines(&self, now: Timestamp) -> Vec<String> {
        let stamp = jiff::Timestamp::from_millisecond(now.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let stamp = Moment::Utc(TimeZone::UTC.to_datetime(stamp));
        let mut lines = vec![
            "BEGIN:VEVENT".to_owned(),
            format!("UID:{}", escape(&self.uid)),
            stamp.line("DTSTAMP"),
            self.start.line("DTSTART"),
        ];
        lines.extend(self.end.as_ref().map(|end| end.line("DTEND")));
        lines.push(format!("SUMMARY:{}", escape(&self.title)));
        lines.extend(self.location.as_ref().map(|text| format!("LOCATION:{}", escape(text))));
        lines.extend(self.description.as_ref().map(|text| format!("DESCRIPTION:{}", escape(text))));
        lines.push("END:VEVENT".to_owned());
        lines
    }

    /// The event that agents were shown as `json`; none, if it is no event.
    pub(super) fn told(json: &Value) -> Option<Self> {
        let text = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            uid: text("uid")?,
            title: text("title")?,
            start: Moment::parse(&text("start")?).ok()?,
            end: text("end").and_then(|end| Moment::parse(&end).ok()),
            location: text("location"),
            description: text("description"),
        })
    }

    /// The event as agents see it.
    pub(super) fn to_json(&self, calendar: &str) -> Value {
        let mut json = json!({
            "uid": self.uid, "calendar": calendar, "title": self.title, "start": self.start.text()
        });
        let optional = [
            ("end", self.end.as_ref().map(Moment::text)),
            ("location", self.location.clone()),
            ("description", self.description.clone()),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                json[name] = value.into();
            }
        }
        json
    }
}
