/** Where the focus goes when another page is opened. */
import type { AnyRouter } from '@tanstack/react-router';

/** The part of the page that rooms are in. */
export const roomId = 'room';

/**
 * Gives the focus to the room after a navigation, unless something in the room has it: screen readers then read the new
 * page, and Tab goes on in it. The first page of a visit leaves the focus to the browser.
 */
export const focusRoom = (router: AnyRouter): (() => void) =>
  router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
    const room = document.getElementById(roomId);
    if (fromLocation !== undefined && pathChanged && !room?.contains(document.activeElement))
      room?.focus({ preventScroll: true });
  });
