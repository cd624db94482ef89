/** Instants as they are typed: the clock of a zone on one side, the exact instant on the other. */
import type { Json } from '../form/fields.js';

export type Zone = 'local' | 'utc';

/**
 * The shortest form of a clock's time, which is what browsers make of it: another one would be set again at every key, and
 * what is being typed would be lost.
 */
const shortClock = (hour: string, minute: string, second: string, ms: string): string => {
  if (ms !== '000') return `${hour}:${minute}:${second}.${ms}`;
  return second === '00' ? `${hour}:${minute}` : `${hour}:${minute}:${second}`;
};

/** What a clock must show for a value: minutes, seconds if there are any, and so on. In seconds. */
export const stepOf = (clock: string, least: number): number => {
  if (/\.\d/.test(clock)) return 0.001;
  return /:\d\d:\d\d$/.test(clock) ? 1 : least;
};

const two = (value: number): string => String(value).padStart(2, '0');

/** What `<input type="datetime-local">` shows; null for years that it cannot. */
export const clockOf = (instant: Date, zone: Zone): string | null => {
  const local = zone === 'local';
  const year = local ? instant.getFullYear() : instant.getUTCFullYear();
  if (Number.isNaN(year) || year < 1 || year > 9999) return null;
  const [month, day, hour, minute, second, ms] = local
    ? [
        instant.getMonth(),
        instant.getDate(),
        instant.getHours(),
        instant.getMinutes(),
        instant.getSeconds(),
        instant.getMilliseconds(),
      ]
    : [
        instant.getUTCMonth(),
        instant.getUTCDate(),
        instant.getUTCHours(),
        instant.getUTCMinutes(),
        instant.getUTCSeconds(),
        instant.getUTCMilliseconds(),
      ];
  const date = `${String(year).padStart(4, '0')}-${two(month + 1)}-${two(day)}`;
  return `${date}T${shortClock(two(hour), two(minute), two(second), String(ms).padStart(3, '0'))}`;
};

/** The instant of a clock's text, which may lack seconds; null if it is none. */
export const instantOf = (clock: string, zone: Zone): Date | null => {
  const instant = new Date(zone === 'utc' ? `${clock}Z` : clock);
  return Number.isNaN(instant.getTime()) ? null : instant;
};

/** A stored value: ISO 8601, or epoch milliseconds as digits of a `timestamp`. */
export const storedInstant = (value: Json): Date | null => {
  if (value === null || typeof value === 'object' || typeof value === 'boolean') return null;
  const instant = /^-?\d+$/.test(String(value)) ? new Date(Number(value)) : new Date(String(value));
  return Number.isNaN(instant.getTime()) ? null : instant;
};

/** As the server writes values of the type. */
export const valueOfInstant = (instant: Date, type: string): string =>
  type === 'timestamp' ? String(instant.getTime()) : instant.toISOString();

/** `UTC+2`, at that instant. */
export const zoneName = (instant: Date, zone: Zone): string => {
  if (zone === 'utc') return 'UTC';
  const minutes = -instant.getTimezoneOffset();
  const rest = Math.abs(minutes) % 60;
  const hours = Math.trunc(Math.abs(minutes) / 60);
  const offset = minutes === 0 ? 'UTC' : `UTC${minutes < 0 ? '−' : '+'}${hours}${rest === 0 ? '' : `:${two(rest)}`}`;
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return name === offset ? name : `${name}, ${offset}`;
};

/** A time of day with three decimals, as the server writes it; null if it is none. */
export const timeOf = (text: string): string | null => {
  const [, hours, minutes, seconds = '00', decimals = ''] =
    /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?$/.exec(text) ?? [];
  return hours === undefined ? null : `${hours}:${minutes}:${seconds}.${decimals.padEnd(3, '0')}`;
};

/** What `<input type="time">` shows of it. */
export const clockOfTime = (time: string): string => {
  const [, hour, minute, second = '00', decimals = ''] = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?$/.exec(time) ?? [];
  return hour === undefined || minute === undefined ? '' : shortClock(hour, minute, second, decimals.padEnd(3, '0'));
};
