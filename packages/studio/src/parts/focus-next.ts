/** For what takes the focus with it when it moves or goes: the first of these ids whose element is there and enabled gets it. */
import { type RefObject, useEffect, useRef } from 'react';

export const useFocusNext = (): RefObject<readonly string[]> => {
  const next = useRef<readonly string[]>([]);
  useEffect(() => {
    const ids = next.current;
    next.current = [];
    ids
      .map((it) => document.getElementById(it))
      .find((it) => it !== null && !it.matches(':disabled'))
      ?.focus();
  });
  return next;
};
