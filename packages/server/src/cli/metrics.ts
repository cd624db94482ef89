/**
 * Metrics in the format of Prometheus, on a port of their own; loaded only if there is one. Labels are routes, methods, statuses
 * and the like, never URLs, so their number is bounded by the model.
 */
import { once } from 'node:events';
import http from 'node:http';
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { Refusal } from '../errors.js';
import type { ObserveRequest } from '../http/request-log.js';
import type { Reader } from '../read/find.js';
import type { Db } from '../sql/dialect.js';
import { StartFault } from './start-fault.js';

export interface Metrics {
  readonly observe: ObserveRequest;
  /** The same database, whose writes are counted. */
  watched<D extends Db>(db: D): D;
  watchReader(reader: Reader): void;
  text(): Promise<string>;
  /** For `textOfAll`. */
  values(): Promise<readonly unknown[]>;
}

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** @param worker the number of this process among those that serve the port; null if it is the only one. */
export const newMetrics = (worker: number | null): Metrics => {
  const registry = new Registry();
  if (worker !== null) registry.setDefaultLabels({ worker: String(worker) });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const requests = new Counter({
    name: 'dovetail_http_requests_total',
    help: 'Requests, by route; status "aborted" if the client left first',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'dovetail_http_request_duration_seconds',
    help: 'Time until a response was sent',
    labelNames: ['route', 'method'],
    buckets: seconds,
    registers,
  });
  const writes = new Histogram({
    name: 'dovetail_write_duration_seconds',
    help: 'Transactions that write, with their time in the queue, by outcome',
    labelNames: ['outcome'],
    buckets: seconds,
    registers,
  });
  /** A counter whose values are kept elsewhere. */
  const counted = (name: string, help: string, label: string, read: () => Readonly<Record<string, number>>): void => {
    new Counter({
      name,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset();
        for (const [value, count] of Object.entries(read())) this.inc({ [label]: value }, count);
      },
    });
  };
  return {
    observe: ({ route, method, status, ms }) => {
      const known = methods.has(method) ? method : 'other';
      requests.inc({ route, method: known, status: status ?? 'aborted' });
      durations.observe({ route, method: known }, ms / 1000);
    },
    watched: (db) => {
      new Gauge({
        name: 'dovetail_database_connections',
        help: 'Connections to PostgreSQL, or threads of SQLite that read: open, in use, and requests that wait for one',
        labelNames: ['state'],
        registers,
        collect() {
          const { open, inUse, waiting } = db.load();
          this.set({ state: 'open' }, open);
          this.set({ state: 'in_use' }, inUse);
          this.set({ state: 'waiting' }, waiting);
        },
      });
      new Counter({
        name: 'dovetail_database_statements_total',
        help: 'Statements sent to the database',
        registers,
        collect() {
          this.reset();
          this.inc(db.load().statements);
        },
      });
      const write: Db['write'] = async (work) => {
        const end = writes.startTimer();
        try {
          const result = await db.write(work);
          end({ outcome: 'committed' });
          return result;
        } catch (fault) {
          end({ outcome: fault instanceof Refusal ? 'refused' : 'failed' });
          throw fault;
        }
      };
      return { ...db, write };
    },
    watchReader: ({ keptCounts, entryCounts, planCounts }) => {
      counted('dovetail_kept_responses_total', 'Reads, by whether their response was kept', 'result', () => ({
        ...keptCounts,
      }));
      counted('dovetail_kept_entries_total', 'Entries of lists, by whether they were kept', 'result', () => ({
        ...entryCounts,
      }));
      counted('dovetail_plans_total', 'Plans of reads, by where they were from', 'result', () => ({ ...planCounts }));
    },
    text: () => registry.metrics(),
    values: () => registry.getMetricsAsJSON(),
  };
};

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The metrics of several processes, each with its label `worker`. */
export const textOfAll = (values: readonly (readonly unknown[])[]): Promise<string> =>
  AggregatorRegistry.aggregate(values as never).metrics();

/** Serves `GET /metrics`, and nothing else. Does not keep the process alive. Throws `StartFault` if it cannot listen. */
export const serveMetrics = async (
  { METRICS_HOST: host, METRICS_PORT: port }: { readonly METRICS_HOST: string; readonly METRICS_PORT: number },
  text: () => Promise<string>,
): Promise<http.Server> => {
  const server = http.createServer({ keepAliveTimeout: 5_000 }, (request, response) => {
    if (request.url?.split('?')[0] !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(404).end();
      return;
    }
    text().then(
      (body) => response.writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }).end(body),
      () => response.writeHead(500).end(),
    );
  });
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (fault) {
    throw new StartFault(
      `Cannot listen on ${host}:${port}: ${(fault as Error).message}\nSet METRICS_HOST and METRICS_PORT to a free address.`,
    );
  }
  return server.unref();
};
