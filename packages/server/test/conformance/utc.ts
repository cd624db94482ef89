// Recorded times are UTC, and PostgreSQL's columns hold the server's wall clock. Before the modules that ask for the zone.
process.env['TZ'] = 'UTC';
