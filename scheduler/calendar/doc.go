// Package calendar turns the words of a schedule into the instants at which a
// job is due.
//
// It promises one meaning for one text. A schedule is five strict cron fields,
// one of the @names, or a number of seconds counted from an anchor; it is read
// wholly in its own zone, and the machine's zone, TZ and zone files never
// matter: zone data is embedded (see ZoneDataVersion). Times follow crond
// (crond(8), "daylight saving time"):
//
//   - A time is a wildcard time when its minute or its hour field begins with
//     "*", else a fixed time. @hourly is a wildcard, the other @names are fixed.
//   - A fixed time that the clock skips is due once, when the gap ends. A
//     wildcard time that the clock skips does not exist.
//   - A fixed time that comes twice is due in its first pass only. A wildcard
//     time is due in both.
//   - A step of more than three hours is a correction of the clock and not
//     daylight saving: what it skips does not exist, what it repeats is due.
//   - A day matches when either day field does, and when one of the two begins
//     with "*", when both do.
//
// Slots that fall on one instant come together in one Due. Next always answers
// with a later instant, or says that none comes within nine years.
//
// What is allowed and may surprise is told as a Warning: a step whose last interval
// is shorter, two restricted day fields, a month without the day, a date that
// never comes, a zone's old or turned name; Apart says how close starts may come.
//
// It refuses, by name and with a hint, everything that other schedulers read in
// more than one way: six fields, L W # H ? ~, @reboot, @every, wrap-around
// ranges, a step after a single value, steps that never step, zone prefixes,
// comments, signs, and white space other than blank and tab.
//
// github.com/robfig/cron/v3 is used in one file to turn text that this package
// has checked into sets of numbers; its runner and its Next are not used.
//
// scheduler and cmd may import it. It imports jobspec.
package calendar
