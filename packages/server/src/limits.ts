/**
 * Every bound of the server, with its unit and its reason. The depth of populate is not bounded as such: the length of the URL and
 * the budgets below bound its cost.
 */
export const limits = {
  /** Bytes of a request URL. Above: 414. Room for some thousand populate levels in dotted form. */
  urlBytesMax: 16_384,
  /** Bytes of request line and headers that Node accepts. Above: 414 if the URL is too long, else 431. */
  headerBytesMax: 32_768,
  /** Key-value pairs in one query string. Above: 400, because a filter among the rest would be lost (RQ12). */
  parametersMax: 1_000,
  /** Values and objects in a query that code gives as an object. Above: 400. */
  queryValuesMax: 10_000,
  /** Nesting of such a query; a level of populate takes two. Above: 400. */
  queryDepthMax: 2_000,
  /** The same of a query that code of a project looks at: v4 reads 20 levels. */
  codeQueryDepthMax: 200,
  /** Values of one `$in` or `$notIn` list. Above: 400 (FL17). */
  inListMax: 1_000,
  /** Conditions in one request's filters, and steps through relations to them. Each may cost one subquery. Above: 400. */
  conditionsMax: 300,
  /** Steps through relations in one sort key. Each is a join. Above: 400 (RQ18). */
  sortStepsMax: 10,
  /** Distinct sort keys of one list. Above: 400. */
  sortKeysMax: 20,
  /** Uses of a file that are listed; all are counted (UP18). */
  usesMax: 100,
  /** Nested objects in `filters`. SQLite refuses expressions deeper than 1,000, and a level takes some thirty. Above: 400. */
  filterDepthMax: 24,
  /** Selections (an entry type with fields and populate) in one request. Each may cost two statements. Above: 400. */
  selectionsMax: 10_000,
  /** Of these, those that differ, each of which costs a quarter of a millisecond before anything is read. Above: 400 (RQ18). */
  distinctSelectionsMax: 1_000,
  /** Names that one response reports as ignored in lenient mode. */
  leftOutMax: 20,
  /** Characters of one such name in the header. */
  leftOutNameMax: 100,
  /** Characters of that header, so that proxies let it through. */
  leftOutHeaderMax: 1_000,
  /** Distinct names that one process logs. */
  leftOutLoggedMax: 1_000,
  /** Rows that one request may read from the database. Above: 400. */
  rowsMax: 200_000,
  /** Characters of one response body. Above: 400 (RQ18). */
  responseCharactersMax: 16 * 1024 * 1024,
  /** Characters of entries that one request may read: twice what a response may have. Above: 400, as for responses. */
  readCharactersMax: 32 * 1024 * 1024,
  /** Bytes that one read may receive from PostgreSQL: those characters, and rows around them. Above: 400, as for responses. */
  receivedBytesMax: 64 * 1024 * 1024,
  /** Rows that SQLite may return at once; longer results are read row by row, checking time and size. */
  shortRowsMax: 100,
  /** Links of one list that a SQLite statement renders inside an entry; longer lists are read in batches. */
  inlineRowsMax: 100,
  /** Bytes of one such list. */
  inlineListBytesMax: 256 * 1024,
  /** Bytes of one entry of a page that a SQLite statement renders with all that is inside it. */
  inlineEntryBytesMax: 512 * 1024,
  /** Levels of entries inside one SQLite statement: expressions nest no deeper than 1,000, and a level takes some ten. */
  inlineDepthMax: 5,
  /** Fields, edges and conditions inside one entry of a SQLite statement, for statements of up to 50 KB. */
  inlineWeightMax: 300,
  /** Milliseconds for which a plan that has met a list of another size is read in batches. */
  batchesMs: 60_000,
  /** Reads in a row whose batches were a tree, until such entries are rendered by one statement. */
  treesUntilNested: 8,
  /** Further such reads after a list turned out to be too long for that. */
  treesAfterFailure: 1_000,
  /** Milliseconds for which that is done, until batches tell again. */
  nestedMs: 60_000,
  /** Milliseconds that one request may spend reading. Above: 400. */
  readMsMax: 5_000,
  /** Milliseconds of one statement on SQLite, during which no other request is served. Above: 400. */
  sqliteStatementMsMax: 1_000,
  /** Milliseconds that a SQLite transaction waits for a lock held by another program. Above: 503. */
  sqliteLockMsMax: 5_000,
  /** Longest pause in milliseconds between two attempts of a read, of which many may wait. */
  sqliteLockPauseMsMax: 50,
  /**
   * The same for a write; only one waits at a time. Short, because a busy v4 releases the lock only for moments; an
   * attempt takes 50 µs.
   */
  sqliteWriterPauseMs: 1,
  /**
   * Pages of SQLite's journal (`-wal`) above which it begins anew as soon as no read takes long. Among that many, SQLite finds a page in
   * one step, and pages that are written again stay in the processor's cache.
   */
  sqliteJournalPages: 4_000,
  /** Pages of it above which writes and further reads wait for reads that take long, so that it begins anew. */
  sqliteJournalPagesMax: 16_000,
  /** Bytes up to which its file is kept when it begins anew; a longer one is cut. */
  sqliteJournalBytesMax: 64 * 1024 * 1024,
  /** Pages of SQLite's journal that are copied into the file at once, as SQLite itself does. */
  sqliteCheckpointPages: 1_000,
  /** Milliseconds between two checks whether the SQLite file was replaced or removed; writes check every time. */
  sqliteFileCheckMs: 1_000,
  /** Milliseconds between two log lines that say that the disk of a SQLite file is full. */
  fullDiskLogMs: 60_000,
  /** Milliseconds that a read may run on SQLite before it yields to other requests. */
  readSliceMsMax: 10,
  /** Milliseconds that a small read may take in the thread that serves requests. Above: another thread repeats it. */
  smallReadMsMax: 2,
  /** Milliseconds that a write may take there. Above: it is undone, and another thread repeats it. */
  smallWriteMsMax: 5,
  /** Rows that one of its statements may change. Above: the same. */
  smallWriteRowsMax: 200,
  /** Milliseconds of CPU time up to which reads in another thread show that those of their plan are small. */
  knownSmallReadMsMax: 1,
  /** How many of them there must have been since one took long. */
  knownSmallReadsMin: 20,
  /** Milliseconds for which reads of the same plan, and writes of the same kind, then go to other threads directly; the first pauses are shorter. */
  ownWorkPauseMsMax: 5_000,
  /** Entries that a small read may show, those of long lists included. */
  smallReadEntriesMax: 20_000,
  /** Milliseconds that small reads and writes may take in one turn of the event loop; less for reads if more threads could take over. */
  ownTimeMsMax: 5,
  /** Read connections per SQLite file; each has its own page cache. */
  sqliteReadersMax: 4,
  /** Threads that read a SQLite file, by default; not more than the machine has cores. */
  sqliteThreads: 4,
  /** Further threads that start while those are busy with reads that take long. */
  sqliteSpareThreads: 2,
  /** Milliseconds after which a read is counted among those that take long, of which fewer run at a time. */
  longReadMs: 50,
  /** Milliseconds that a read waits for a thread. Above: 503. */
  threadWaitMsMax: 5_000,
  /** Reads that wait for a thread. Above: 503. */
  readsWaitingMax: 10_000,
  /** Milliseconds beyond its bound that a statement has to end itself, before its thread is replaced. */
  threadGraceMs: 250,
  /** Milliseconds between two looks at what busy threads do. */
  threadLookMs: 25,
  /** Milliseconds that a thread has to load. */
  threadStartMsMax: 30_000,
  /** Milliseconds after which a spare thread that is not needed ends. */
  threadIdleMs: 30_000,
  /** Threads that were replaced and still have to end; there are no further ones until they do. */
  threadsEndingMax: 4,
  /** Megabytes of a thread's heap. Above: 400 for the read that took them. */
  threadHeapMb: 256,
  /** Characters of compiled reads that a thread keeps, as JSON. */
  threadPlanCharactersMax: 4 * 1024 * 1024,
  /** PostgreSQL connections per process. */
  connectionsMax: 10,
  /** Of these, those that no write takes: hooks may keep a write waiting for long, and they may ask for reads themselves. */
  connectionsOfReads: 2,
  /** Milliseconds that a write waits for one of the others. Above: 503. */
  writeTurnMsMax: 30_000,
  /** Milliseconds that a request waits for a connection, queued or connecting. Above: 503. */
  connectMsMax: 5_000,
  /** Requests queued for a connection. Above: 503. */
  connectionsWaitingMax: 10_000,
  /** Milliseconds that an additional connection has to answer; after that the pool stops growing, because a pooler may have no more. */
  furtherConnectionMsMax: 1_000,
  /** Milliseconds before the pool tries to grow again, after that or after "too many connections" from PostgreSQL. */
  fewerConnectionsMs: 60_000,
  /** Lifetime of a PostgreSQL connection in milliseconds, so that the pool follows a server that has moved. */
  connectionMsMax: 30 * 60 * 1000,
  /**
   * Milliseconds that a PostgreSQL statement waits for a lock. Above: 503. Less than `readMsMax`, to tell waiting from working; a
   * statement that writes may need several locks, and is a 503 past `readMsMax` too.
   */
  lockMsMax: 3_000,
  /** The same in writes of a project whose own code runs in transactions: locks are kept as long as that takes. */
  hookLockMsMax: 30_000,
  /**
   * Milliseconds without a response from PostgreSQL after which a connection is closed. Above: 503. Statements of a write that are
   * answered together have `lockMsMax` more.
   */
  silenceMsMax: 7_000,
  /** Milliseconds that start-up waits for another starting process or for locked tables. */
  startLockMsMax: 60_000,
  /** Milliseconds between attempts to be the only process that creates indexes. */
  indexLockPauseMs: 200,
  /** Transactions whose writes are known at a time, and between two looks at PostgreSQL; beyond, any table may have changed. */
  transactionsMax: 10_000,
  /** Milliseconds that a read waits to hear from another Dovetail process what its commit touched. */
  announcementMsMax: 20,
  /** Milliseconds for which a process is taken for running after it was last heard. */
  peerMsMax: 150_000,
  /** Milliseconds between two attempts to listen to other processes. */
  listenPauseMs: 10_000,
  /** Milliseconds that a look at PostgreSQL may take before its connection is given up, and another one asked. */
  lookMsMax: 1_000,
  /** Milliseconds that running transactions have to finish when the database is closed. */
  closeMsMax: 5_000,
  /** KiB of SQLite's page cache per connection. */
  sqliteCacheKibMax: 8_192,
  /** Bytes of the file that the connection of small reads finds in the system's cache, without copying pages; SQLite's own limit. */
  sqliteMappedBytesMax: 0x7fff_0000,
  /** Compiled or prepared statements kept per connection. */
  statementsMax: 500,
  /** Characters of the prepared statements of one SQLite connection, which take about ten bytes for each. */
  sqlitePreparedCharactersMax: 500_000,
  /** Characters of the prepared statements of one PostgreSQL connection; its server needs about 90 bytes for each. */
  preparedCharactersMax: 600_000,
  /** Characters of a statement that reads everything at once; longer ones would not be kept prepared. */
  unitedCharactersMax: 60_000,
  /** Bytes of compiled reads, measured as JSON text: about 8 KB for a simple list, 70 KB for `populate=*` of a large type. */
  shapeBytesMax: 8 * 1024 * 1024,
  /** Compiled windows of relation lists: editors open few lists, and ask for the same fields of each. */
  windowShapesMax: 200,
  /** Bytes of plans by the template or text of their request: what `shapeBytesMax` says, without the statements. */
  planBytesMax: 8 * 1024 * 1024,
  /** Bytes of what is remembered of lists, some 400 of them, and the positions in one. */
  knownListsBytesMax: 4 * 1024 * 1024,
  anchorsMax: 200,
  /** Entries that a later page skips, and that a list counts, without remembering it. */
  skippedRowsMax: 400,
  countedRowsMax: 1_000,
  /** Bytes of cached responses. */
  responseCacheBytesMax: 16 * 1024 * 1024,
  /** Bytes of kept entries. */
  entriesBytesMax: 24 * 1024 * 1024,
  /** Share of these bytes that one entry may take. */
  keptEntryShare: 1 / 64,
  /** Share of the memory for kept entries that is for the orders of lists, eight bytes for an entry. */
  keptOrdersShare: 1 / 8,
  /** Entries of a list whose order is kept. */
  orderedRowsMax: 200_000,
  /** Selections of which entries are kept. */
  entryGroupsMax: 1_000,
  /** Entries that are remembered to have been shown, so that those shown once displace none that are shown often. */
  entriesSightedMax: 65_536,
  /** Share of the configured memory for cached responses that is for their compressed forms; they are about a tenth of them. */
  compressedShare: 1 / 8,
  /** Bytes of compressed forms that are kept if nothing is configured. */
  compressedBytesMax: 2 * 1024 * 1024,
  /** Bytes of URLs that were asked for repeatedly, with what they ask for. */
  targetBytesMax: 1024 * 1024,
  /** Characters of the descriptions of the API that are kept, in each form. */
  descriptionBytesMax: 4 * 1024 * 1024,
  /** Texts of `Accept-Encoding` whose meaning is cached. */
  acceptedEncodingsMax: 100,
  /** Milliseconds for which permissions, credentials and the default locale are cached. */
  permissionsMsMax: 1_000,
  /** Cached credentials. */
  credentialsMax: 1_000,
  /** Minimum milliseconds between two updates of an API token's last use (AC17). */
  lastUseMsMin: 60 * 60 * 1000,
  /** Milliseconds for which a password reset code is valid (AC11). */
  resetCodeMsMax: 60 * 60 * 1000,
  /** Milliseconds for which the access token of an administrator is valid (AD3). */
  adminTokenMsMax: 15 * 60 * 1000,
  /** Milliseconds after which an administrator has to sign in again, however active (AD4). */
  adminSessionMsMax: 30 * 24 * 60 * 60 * 1000,
  /** Milliseconds after which a session ends that nobody has refreshed (AD4). */
  adminSessionIdleMsMax: 7 * 24 * 60 * 60 * 1000,
  /** Milliseconds for which the refresh token before the current one is still known: two pages may refresh at once (AD4). */
  refreshOverlapMsMax: 10_000,
  /** Sessions of one administrator. Above: the oldest ends. */
  adminSessionsMax: 20,
  /** Milliseconds for which the link is valid that registers the first administrator (AD7). */
  registerKeyMsMax: 24 * 60 * 60 * 1000,
  /** Milliseconds for which a one-time link for an administrator is valid (AD18). */
  registrationTokenMsMax: 3 * 24 * 60 * 60 * 1000,
  /** Characters of the name and the description of an API token. Above: 400. */
  tokenTextMax: 255,
  /** Characters of the password of an administrator, as in v4. Below: 400. */
  adminPasswordCharactersMin: 8,
  /** Bytes of a new password: bcrypt ignores the rest. Above: 400. */
  passwordBytesMax: 72,
  /** Passwords in one body. Each takes about 60 ms of a thread. Above: 400. */
  passwordsMax: 50,
  /** Threads that hash passwords, of the four in Node's pool. */
  passwordThreadsMax: 2,
  /** Milliseconds over which attempts to log in are counted, configurable for the first of the next three. Above one of them: 429. */
  attemptsMs: 60_000,
  /** Attempts from one address for one account at one endpoint (AC14). Configurable. */
  attemptsMax: 10,
  /** Attempts from one address for any account. */
  attemptsOfAddressMax: 60,
  /** Attempts for one account from any address. */
  attemptsForAccountMax: 100,
  /** Attempt counters kept at once. */
  attemptCountersMax: 50_000,
  /** Largest id (and `integer` value) that both databases hold: 32 bits, signed. */
  integerMax: 2_147_483_647,
  /** Least `integer` value that both databases hold. */
  integerMin: -2_147_483_648,
  /** Milliseconds for receiving a whole request, so that slow bodies do not hold connections. Above: 408. */
  requestMsMax: 60_000,
  /** Paths for which the routes of a v4 project's code are remembered. */
  pathsKept: 1_000,
  /** Longer paths are looked up each time. */
  pathKeptCharacters: 200,
  /** Bytes of a JSON body (BO15). Above: 413. */
  bodyBytesMax: 1024 * 1024,
  /** Milliseconds until a remote store of uploads accepts a connection. Above: 503, after a second attempt. */
  storeConnectMsMax: 3_000,
  /** Milliseconds without any byte from or to a remote store. Above: 503, after a second attempt. */
  storeStalledMsMax: 10_000,
  /** Milliseconds for which the signed URL of an upload stays the same; it is valid as long again. */
  signedUrlPeriodMs: 15 * 60 * 1000,
  /** Bytes of an `application/x-www-form-urlencoded` body, as in v4. Above: 413. */
  fieldsBytesMax: 56 * 1024,
  /** Bytes of the files of one form together: the default of v4's body parser. Above: 413. Configurable. */
  formFileBytesMax: 200 * 1024 * 1024,
  /** Files in one form. Each costs some statements. Above: 413. */
  formFilesMax: 100,
  /** Parts of one form. Above: 413. */
  formPartsMax: 1_000,
  /** Milliseconds for receiving a form: 200 MB at 0.5 Mbit/s. Above: 408. */
  formMsMax: 60 * 60 * 1000,
  /** Milliseconds in which at least one byte of a form must arrive. Above: 408. */
  formStalledMsMax: 30_000,
  /** Milliseconds for which the rest of a refused request is read, so that the client sees the response. Then the connection is closed. */
  discardMsMax: 5_000,
  /** Pixels of an image. Some decoders hold all of them, 4 bytes each. Above: 400. */
  imagePixelsMax: 100_000_000,
  /** Images that are processed at a time: one thread of the four in Node's pool, and at most 400 MB. */
  imageThreadsMax: 1,
  /** Bytes of an SVG whose dimensions are read; of a larger one they are null. */
  svgBytesMax: 10 * 1024 * 1024,
  /** Seconds that processing one image may take. Above: 400. */
  imageSecondsMax: 60,
  /** Nesting of a JSON value. SQLite's JSON functions stop at 1,000 (BO15). Above: 400. */
  jsonDepthMax: 500,
  /** Milliseconds for comparing the texts of a body with patterns of schema files (BO6), while everything else waits. Above: 400. */
  regexMsMax: 250,
  /** Issues that one response lists; parsing of a body stops once it has more. */
  issuesMax: 100,
  /** Nesting depth of components in one body. Reading them takes one round trip per level. Above: 400. */
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
  /** Milliseconds that a handler's own code may take; it may wait for slow services. Above: 500. */
  handlerMsMax: 30_000,
  /** Milliseconds that one hook may take: it holds its transaction open, on SQLite the only one. Above: 500. */
  hookMsMax: 5_000,
  /** Milliseconds that a lifecycle, or a transaction that code of a v4 project has opened, may take: v4 had no bound. Above: 500. */
  codeHoldsMsMax: 60_000,
  /** Milliseconds that code of a v4 project may run without returning until the log says where it is. */
  loopBlockedMs: 10_000,
  /** Milliseconds that `register` or `bootstrap` of a v4 project may take until the log says that it is waited for. */
  startHookMs: 10_000,
  /** Milliseconds between two signs of life of the main thread. */
  loopBeatMs: 500,
  /** Milliseconds that a write of such code waits for a transaction that other code holds. Above: an error of that write. */
  codeWaitMsMax: 10_000,
  /** Nesting depth of hooks in one transaction. Above: 500, because a hook that triggers itself would never end. */
  hookDepthMax: 10,
  /** Milliseconds that a webhook's receiver has to answer, as in v4. Above: the delivery is tried again. */
  webhookMsMax: 10_000,
  /** Milliseconds for which a delivery belongs to the process that sends it; if it dies, another one sends it then. */
  webhookLeaseMs: 15_000,
  /** Attempts of a delivery, over some 19 hours. Then it is given up, and kept. */
  webhookAttemptsMax: 10,
  /** Milliseconds between the first two attempts of a delivery; each further pause is four times as long. */
  webhookPauseMs: 5_000,
  /** Longest such pause in milliseconds. */
  webhookPauseMsMax: 6 * 60 * 60 * 1000,
  /** Deliveries to one webhook at a time, as in v4. */
  webhookRequestsMax: 5,
  /** Failures one after the other, after which a webhook is sent one delivery at a time. */
  webhookFailuresMax: 5,
  /** Milliseconds between two of these, so that a long queue for a receiver that is down takes little. */
  webhookFailingPauseMs: 100,
  /** Deliveries of a process at a time. */
  webhookRequestsTotalMax: 20,
  /** Milliseconds between two looks for changed webhooks and for deliveries that are due. */
  webhookLookMs: 1_000,
  /** Bytes of a delivery's body. Larger ones are sent without what is populated. */
  webhookBodyBytesMax: 1024 * 1024,
  /** Bytes of a receiver's response that are read, so that its connection can be used again; nothing of it is kept. */
  webhookResponseBytesMax: 64 * 1024,
  /** Links of a list up to which a partial change reads the whole list; of a longer one it reads the surroundings of the change. */
  wholeListMax: 200,
  /** Ids in such a change, anchors included; beyond this, reading the whole list is cheaper. */
  excerptIdsMax: 20,
  /** Last ranks of a long list that are checked before it is changed, unless they were spread. */
  soundRanksMax: 2_000,
  /** The same for lists on the other side of the changed links; there may be many. */
  soundInverseRanksMax: 20,
  /** Greatest stored rank. Old databases store them as 32-bit integers, and the fractions that v4 adds must fit into a float. */
  rankMax: 2_147_483_647,
  /** `Retry-After` of a 503, in seconds. */
  retryAfterS: 1,
  /** Idle time of a keep-alive connection in milliseconds: longer than that of proxies, so that they close first. */
  keepAliveMs: 72_000,
  /** Bytes of response bodies waiting for slow clients, over all connections. */
  waitingBytesMax: 256 * 1024 * 1024,
  /** Milliseconds for which a slow client is kept when those bytes run out; until then further responses are 503. */
  waitingKeptMs: 5_000,
  /** Milliseconds without progress after which a connection is closed, so that a client cannot hold a response without reading it. */
  stalledMsMax: 30_000,
  /** Milliseconds between two progress checks of connections with pending output. */
  stalledLookMs: 1_000,
  /** Worker processes of one supervisor. */
  workersMax: 64,
  /** Longest pause in milliseconds before a worker that dies again and again is started; the second time it is 100 ms. */
  workerPauseMsMax: 10_000,
  /** Milliseconds after which a worker counts as healthy, so that its death starts the pauses anew. */
  workerSteadyMs: 60_000,
  /** Milliseconds beyond its own bounds that a worker has to stop; then it is killed. */
  workerReactMsMax: 5_000,
  /** Milliseconds that requests in flight have to finish after SIGTERM. */
  drainMsMax: 10_000,
  /** Milliseconds that an idle connection stays open for one more request when the server stops. */
  idleMsOnStop: 1_000,
  /** Milliseconds after which a migration says how far it is. */
  migrationProgressMs: 2_000,
} as const;
