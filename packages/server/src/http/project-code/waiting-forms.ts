/** Forms of requests that code takes part in: they are received once it asks for them, or before it can look at them. */
import type Koa from 'koa';
import type { IncomingForm } from '../../media/receive.js';
import type { Ready } from '../../ready.js';
import type { Site } from '../../site/site.js';
import { shownForm } from '../../v4code/data/files.js';

export interface WaitingForms {
  add(ctx: object, form: IncomingForm): void;
  /** Runs the work with the fields and files of the form in the context, if it has one that was not received yet. */
  receive(ctx: object, work: () => Ready<void>): Ready<void>;
}

export const newWaitingForms = (media: Site['media']): WaitingForms => {
  const forms = new WeakMap<object, IncomingForm>();
  return {
    add: (ctx, form) => {
      forms.set(ctx, form);
    },
    receive: (ctx, work) => {
      const form = forms.get(ctx);
      if (!form) return work();
      forms.delete(ctx);
      return media.withForm(form, async (received) => {
        form.received = received;
        Object.assign((ctx as Koa.Context).request, shownForm(received));
        return work();
      });
    },
  };
};
