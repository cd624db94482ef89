/**
 * Every bound of the server, with its unit and its reason. Depth of populate has no bound of its own (specification,
 * Limits 1): the length of the URL and the budgets below bound its cost.
 */
export const limits = {
  /** Bytes of a request URL. Above: 414. Room for some thousand populate levels in dotted form. */
  urlBytesMax: 16_384,
  /** Bytes of request line and headers that Node accepts at all. Above: 414 where the URL is to blame, else 431. */
  headerBytesMax: 32_768,
  /** Key-value pairs in one query string. Above: 400, because a filter among the surplus would be lost (RQ12). */
  parametersMax: 1_000,
  /** Values and objects in a query that code gives as an object. Above: 400. */
  queryValuesMax: 10_000,
  /** Nesting of such a query; a level of populate takes two. Above: 400. */
  queryDepthMax: 2_000,
  /** Values of one `$in` or `$notIn` list. Above: 400 (FL17). */
  inListMax: 1_000,
  /** Conditions in one request's filters. Each may cost one subquery. Above: 400. */
  conditionsMax: 200,
  /** Steps through relations in one sort key. Each is a join. Above: 400 (RQ18). */
  sortStepsMax: 10,
  /** Distinct sort keys of one list. Above: 400. */
  sortKeysMax: 20,
  /** Nested objects in `filters`. SQLite refuses expressions deeper than 1,000, and a level takes some thirty. Above: 400. */
  filterDepthMax: 24,
  /** Selections (an entry type with fields and populate) in one request. Each may cost two statements. Above: 400. */
  selectionsMax: 10_000,
  /** Names of what leniency left out that one response tells. */
  leftOutMax: 20,
  /** Characters of one such name in the header. */
  leftOutNameMax: 100,
  /** Characters of that header, so that proxies let it through. */
  leftOutHeaderMax: 1_000,
  /** Such names that one process logs. */
  leftOutLoggedMax: 1_000,
  /** Rows that one request may read from the database. Above: 400, ask for less. */
  rowsMax: 200_000,
  /** Characters of one response body. Above: 400, ask for less (RQ18). */
  responseCharactersMax: 16 * 1024 * 1024,
  /** Characters of entries that one request may read: twice what a response may have. Above: 400, as for responses. */
  readCharactersMax: 32 * 1024 * 1024,
  /** Rows that are read from SQLite at once; of more, time and characters are looked at while they come. */
  shortRowsMax: 100,
  /** Milliseconds that one request may spend reading. Above: 400, ask for less. */
  readMsMax: 5_000,
  /** Milliseconds of one statement on SQLite, during which no other request is answered. Above: 400, ask for less. */
  sqliteStatementMsMax: 1_000,
  /** Milliseconds that a transaction on SQLite waits for a lock that another program holds. Above: 503. */
  sqliteLockMsMax: 5_000,
  /** Most milliseconds between two tries to get such a lock. */
  sqliteLockPauseMsMax: 50,
  /** Bytes of SQLite's journal (`-wal`) after which readers wait for a moment, so that it can be emptied. */
  sqliteJournalBytesMax: 64 * 1024 * 1024,
  /** Milliseconds between two looks whether a SQLite file was replaced or removed; writes look each time. */
  sqliteFileLookMs: 1_000,
  /** Milliseconds of uninterrupted reading on SQLite before other requests get their turn. */
  readSliceMsMax: 10,
  /** Connections for reading one SQLite file; each keeps a page cache of its own. */
  sqliteReadersMax: 4,
  /** Connections of one process to PostgreSQL. */
  connectionsMax: 10,
  /** Milliseconds that a request waits for one of them, in line or while it is made. Above: 503. */
  connectMsMax: 5_000,
  /** Requests that wait in that line. Above: 503. */
  connectionsWaitingMax: 10_000,
  /** Milliseconds that a further connection gets to serve; then those that are there must do: a pooler may have no more. */
  furtherConnectionMsMax: 1_000,
  /** Milliseconds for which no more connections are tried then, nor after PostgreSQL has said that there are too many. */
  fewerConnectionsMs: 60_000,
  /** Milliseconds after which a connection to PostgreSQL is replaced, so that it follows where the server has moved. */
  connectionMsMax: 30 * 60 * 1000,
  /** Milliseconds that a statement on PostgreSQL waits for a lock of others. Above: 503; below `readMsMax`, which is for work. */
  lockMsMax: 3_000,
  /** Milliseconds without an answer of PostgreSQL after which a connection is given up. Above: 503. */
  silenceMsMax: 7_000,
  /** Milliseconds that a start waits for the start of another process, or for tables that others hold. */
  startLockMsMax: 60_000,
  /** Milliseconds that running transactions get to finish when the database is closed. */
  closeMsMax: 5_000,
  /** KiB of SQLite's page cache for each connection. */
  sqliteCacheKibMax: 8_192,
  /** Statements kept compiled, or prepared, for each connection to a database. */
  statementsMax: 500,
  /** Characters of the statements that are prepared on one connection to PostgreSQL. */
  preparedCharactersMax: 2_000_000,
  /** Bytes of plans kept ready, by their JSON text: about 4 KB for a simple list, 35 KB for `populate=*` of a large type. */
  planBytesMax: 64 * 1024 * 1024,
  /** Bytes of answers kept ready for as long as the database does not change. */
  answersBytesMax: 16 * 1024 * 1024,
  /** Milliseconds for which permissions and credentials read from the database are believed. */
  permissionsMsMax: 1_000,
  /** Credentials kept ready for that time. */
  credentialsMax: 1_000,
  /** Least milliseconds between two notes of an API token's last use (AC17). */
  lastUseMsMin: 60 * 60 * 1000,
  /** Milliseconds for which a code for a new password is good (AC11). */
  resetCodeMsMax: 60 * 60 * 1000,
  /** Bytes of a new password: bcrypt reads no more. Above: 400. */
  passwordBytesMax: 72,
  /** Passwords in one body. Each takes a thread some 60 ms. Above: 400. */
  passwordsMax: 50,
  /** Threads that hash passwords, of the four in Node's pool. */
  passwordThreadsMax: 2,
  /** Milliseconds over which attempts to log in are counted. Above one of the next three: 429. */
  attemptsMs: 60_000,
  /** Attempts of one address for one account at one endpoint (AC14). The configuration may say otherwise. */
  attemptsMax: 10,
  /** Attempts of one address, whatever the accounts. */
  attemptsOfAddressMax: 60,
  /** Attempts for one account, from whatever addresses. */
  attemptsForAccountMax: 100,
  /** Counters of attempts kept at once. */
  attemptCountersMax: 50_000,
  /** Largest id (and `integer` value) that both databases hold: 32 bits, signed. */
  integerMax: 2_147_483_647,
  /** Least `integer` value that both databases hold. */
  integerMin: -2_147_483_648,
  /** Milliseconds in which a whole request must have come in, so that slow bodies hold no connection. Above: 408. */
  requestMsMax: 60_000,
  /** Bytes of a JSON body (BO15). Above: 413. */
  bodyBytesMax: 1024 * 1024,
  /** Nesting of a JSON value. SQLite's JSON functions end at 1,000 (BO15). Above: 400. */
  jsonDepthMax: 500,
  /** Faults that one response lists; a body is not parsed on once it has more. */
  issuesMax: 100,
  /** Components inside each other in one body. Reading them takes a round trip for each level. Above: 400. */
  componentDepthMax: 100,
  /** Elements of one relation value. Above: 400. */
  relationIdsMax: 20_000,
  /** Components in one body, nested ones included. Above: 400. */
  partsMax: 5_000,
  /** Characters of a `string` column on every database (PostgreSQL: varchar(255)). */
  stringCharactersMax: 255,
  /** Greatest magnitude of a `decimal` on every database (PostgreSQL: numeric(10,2)). */
  decimalMax: 99_999_999.99,
  /** Milliseconds of the earliest instant that both databases hold, about 4680 BC. Earlier: 400. */
  instantMin: -210_000_000_000_000,
  /** Milliseconds that one hook of a project may take: it holds its transaction, on SQLite the only one. Above: 500. */
  hookMsMax: 5_000,
  /** Hooks inside each other in one transaction. Above: 500, because one that calls itself would never end. */
  hookDepthMax: 10,
  /** Links of a list that a change of some reads whole; of a longer one it reads what is near the change. */
  wholeListMax: 200,
  /** Ids of such a change. Each costs two statements; more are cheaper with the whole list. */
  excerptIdsMax: 20,
  /** Least distance between two stored ranks before a list is numbered anew. */
  rankGapMin: 1e-6,
  /** Seconds after which a client may try again what was answered with 503. */
  retryAfterS: 1,
  /** Milliseconds for which a connection may be kept without a request: longer than proxies keep theirs, so that they close first. */
  keepAliveMs: 72_000,
  /** Bytes of response bodies that wait for their readers, over all connections. */
  waitingBytesMax: 256 * 1024 * 1024,
  /** Milliseconds for which a slow reader keeps its place when those bytes run out. Before: 503 to the next. */
  waitingKeptMs: 5_000,
  /** Milliseconds without progress after which a connection is closed, so that nobody holds a response and never reads it. */
  stalledMsMax: 30_000,
  /** Milliseconds that running requests get to finish after SIGTERM. */
  drainMsMax: 10_000,
  /** Milliseconds that a quiet connection stays open for one more request when the server stops. */
  quietMsOnStop: 1_000,
} as const;
