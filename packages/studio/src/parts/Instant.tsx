/** A time as people read it, with the exact instant on hover. */
import { Tooltip } from '@mantine/core';

const long = (instant: Date): string => instant.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
/** Made when it is needed: formats take long to load. */
let relative: Intl.RelativeTimeFormat | undefined;

const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** "3 hours ago" within a week, else the date. */
const readable = (instant: Date, now: number): string => {
  const seconds = (instant.getTime() - now) / 1000;
  if (Math.abs(seconds) >= 7 * 86_400) return long(instant);
  const [unit, size] = steps.find(([, it]) => Math.abs(seconds) >= it) ?? ['minute', 60];
  relative ??= new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
  return relative.format(Math.trunc(seconds / size), unit);
};

/** @param value ISO 8601. */
export const Instant = ({ value, exact = false }: { readonly value: string; readonly exact?: boolean }) => {
  const instant = new Date(value);
  if (Number.isNaN(instant.getTime())) return <>{value}</>;
  return (
    <Tooltip label={instant.toISOString()} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={value}>{exact ? long(instant) : readable(instant, Date.now())}</time>
    </Tooltip>
  );
};
