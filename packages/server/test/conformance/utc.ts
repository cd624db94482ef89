// Recorded times are UTC, and PostgreSQL's columns hold the server's local time. Import this before modules that read
// the time zone.
process.env['TZ'] = 'UTC';
