/** Numbers as they are typed. Nothing is rounded here: what a number cannot hold is sent as the text that was typed. */
import type { Json } from '../form/fields.js';

/** @param isText whether the server writes such values as texts: big integers. */
export const numberOfText = (text: string, isText: boolean): Json => {
  const typed = text.trim();
  if (typed === '') return null;
  if (isText) return typed;
  const number = Number(typed);
  return Number.isFinite(number) && String(number) === typed ? number : typed;
};

export const textOfNumber = (value: Json): string => (value === null ? '' : String(value));
