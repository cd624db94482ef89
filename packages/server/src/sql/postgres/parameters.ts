/** Texts with parameters as parts of longer ones. */
import { LRUCache } from 'lru-cache';
import { limits } from '../../limits.js';

/** Texts made of others, by their numbers; clients decide how many they are made of. */
export const newJoinedTexts = () =>
  new LRUCache<string, string>({
    maxSize: limits.preparedCharactersMax,
    sizeCalculation: (text, key) => text.length + key.length,
  });

const numbers = new LRUCache<string, number>({ max: limits.statementsMax });
let lastNumber = 0;

/** A number for a text: joined texts of many queries would be long keys. */
export const numberOf = (text: string): number => {
  const known = numbers.get(text);
  if (known !== undefined) return known;
  lastNumber += 1;
  numbers.set(text, lastNumber);
  return lastNumber;
};

/** The text with its parameters behind others. @param before how many others. */
export const renumbered = (text: string, before: number): string =>
  text.replace(quotedOrParameter, (found, number?: string) =>
    number === undefined ? found : `$${before + Number(number)}`,
  );

/** A quoted name, a literal, or a parameter with its number. */
const quotedOrParameter = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\$(\d+)/g;
