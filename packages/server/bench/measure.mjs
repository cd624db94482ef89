/** Slices of load on several sides, alternating. */
import { runExactly, runSlice, startReaders } from './client.mjs';

export const median = (numbers) => {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
export const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/**
 * @typedef {{ port: number, cpuUs?: () => number | null }} Target
 *   `cpuUs`: CPU time used so far on behalf of this side, its database's included.
 * @typedef {{ perSecond: number, p50Ms: number, p99Ms: number, cpuUs: number | null, slices: number[] }} Measured
 *   `cpuUs`: CPU time of a request, of the cheapest slices: other load on the machine only adds to it.
 */

/**
 * Reads for some time in each slice.
 * @param {Record<string, Target>} targets by side. @param urlFor the path of a side's n-th request.
 * @returns {Promise<Record<string, Measured>>}
 */
export const measure = (targets, { urlFor, rounds, seconds, connections }) => {
  // a server that keeps answers by URL must not see the same new value twice
  const turns = Object.fromEntries(Object.keys(targets).map((side) => [side, 0]));
  return inTurn(targets, rounds, (side, port) =>
    runSlice({ port, requestFor: () => urlFor(turns[side]++, side), seconds, connections }),
  );
};

/**
 * Writes: the same requests on every side, as many in each slice, so that the databases grow alike; with readers beside
 * them where they are given.
 * @param {Record<string, Target>} targets by side.
 * @param firstTurn of the requests. @param warming requests of the first slice, which does not count. @param readers their connections, pause and requests; null for none.
 * @returns {Promise<Record<string, Measured & { readP99Ms: number | null }>>}
 */
export const measureWrites = async (
  targets,
  { requestFor, firstTurn, warming, perSlice, rounds, connections, readers },
) => {
  const turns = Object.fromEntries(Object.keys(targets).map((side) => [side, firstTurn]));
  const readMs = Object.fromEntries(Object.keys(targets).map((side) => [side, []]));
  const measured = await inTurn(targets, rounds, async (side, port, round) => {
    let fault = null;
    const onFault = (it) => {
      fault = it;
    };
    const reading = readers && startReaders({ ...readers, port, onFault });
    const numbered = () => requestFor(turns[side]++);
    const requests = round === 0 ? warming : perSlice;
    const slice = await runExactly({ port, requestFor: numbered, requests, connections });
    const waited = reading ? reading.stop() : [];
    if (round > 0) readMs[side].push(...waited);
    if (fault) throw fault;
    return slice;
  });
  return Object.fromEntries(
    Object.entries(measured).map(([side, it]) => [
      side,
      {
        ...it,
        readP99Ms: readers
          ? quantile(
              readMs[side].sort((a, b) => a - b),
              0.99,
            )
          : null,
      },
    ]),
  );
};

/** Of many slices not the very cheapest: for some the system shows a fraction of their CPU time. */
const CHEAP_SHARE = 0.1;

/**
 * Slices A B C, B C A …, so that other load on the machine affects all sides alike, and so does what the side before leaves in the
 * caches of its cores; the first round is discarded.
 */
const inTurn = async (targets, rounds, runOne) => {
  const slices = Object.fromEntries(Object.keys(targets).map((side) => [side, []]));
  const sides = Object.entries(targets);
  for (let round = 0; round <= rounds; round++)
    for (let i = 0; i < sides.length; i++) {
      const [side, { port, cpuUs = () => null }] = sides[(round + i) % sides.length];
      const before = cpuUs();
      const slice = await runOne(side, port, round);
      const after = cpuUs();
      const used = before === null || after === null ? null : (after - before) / slice.sent;
      if (round > 0) slices[side].push({ ...slice, cpuUs: used });
    }
  return Object.fromEntries(
    Object.entries(slices).map(([side, its]) => {
      const latencies = its.flatMap((it) => it.latenciesMs).sort((a, b) => a - b);
      const rates = its.map((it) => it.requests / it.seconds);
      const used = its.map((it) => it.cpuUs);
      return [
        side,
        {
          perSecond: median(rates),
          p50Ms: quantile(latencies, 0.5),
          p99Ms: quantile(latencies, 0.99),
          cpuUs: used.includes(null)
            ? null
            : quantile(
                used.toSorted((a, b) => a - b),
                CHEAP_SHARE,
              ),
          slices: rates,
        },
      ];
    }),
  );
};

/** How much faster one side is: the median over the rounds, comparing within each round. */
export const ratio = (one, other) => median(one.slices.map((rate, i) => rate / other.slices[i]));

/** How much less CPU time one side needs for a request; null where the system does not tell. */
export const cpuRatio = (one, other) => (one.cpuUs === null || other.cpuUs === null ? null : other.cpuUs / one.cpuUs);
