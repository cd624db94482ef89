/** Slices of load on several sides in turn. */
import { runSlice } from './client.mjs';

export const median = (numbers) => {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** @typedef {{ perSecond: number, p50Ms: number, p99Ms: number, slices: number[] }} Measured */

/**
 * Short slices A B C A B C …, so that what else the machine does meets all sides alike; a first round is discarded.
 * @param {Record<string, number>} ports by side. @param urlFor the path of a side's n-th request.
 * @returns {Promise<Record<string, Measured>>}
 */
export const measure = async (ports, { urlFor, rounds, seconds, connections }) => {
  const slices = Object.fromEntries(Object.keys(ports).map((side) => [side, []]));
  for (let round = 0; round <= rounds; round++)
    for (const [side, port] of Object.entries(ports)) {
      const slice = await runSlice({ port, urlFor: (turn) => urlFor(turn, side), seconds, connections });
      if (round > 0) slices[side].push(slice);
    }
  return Object.fromEntries(
    Object.entries(slices).map(([side, its]) => {
      const latencies = its.flatMap((it) => it.latenciesMs).sort((a, b) => a - b);
      const rates = its.map((it) => it.requests / it.seconds);
      return [
        side,
        { perSecond: median(rates), p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99), slices: rates },
      ];
    }),
  );
};

/** How much faster the one side is: the median over the rounds, each compared within itself. */
export const ratio = (one, other) => median(one.slices.map((rate, i) => rate / other.slices[i]));
