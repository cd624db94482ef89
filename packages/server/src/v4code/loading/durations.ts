/** Durations as v4's settings and services take them. */

/** `30d`, `12h`, or seconds: days. */
export const daysOf = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value > 0 ? value / 86_400 : undefined;
  const [, count, unit = 'ms'] =
    /^(\d+(?:\.\d+)?)\s*(ms|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hrs?|hours?|d|days?|w|weeks?|y|yrs?|years?)?$/i.exec(
      String(value).trim(),
    ) ?? [];
  if (count === undefined) return undefined;
  const key = unit.toLowerCase() === 'ms' ? 'ms' : unit[0]!.toLowerCase();
  const days = { ms: 1 / 86_400_000, s: 1 / 86_400, m: 1 / 1440, h: 1 / 24, d: 1, w: 7, y: 365.25 }[key] ?? 0;
  return Number(count) * days;
};
