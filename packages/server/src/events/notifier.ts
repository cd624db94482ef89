/** Tells webhooks and listeners what happens to entries and files: records it with each write, and sends it after the commit. */

import { limits } from '../limits.js';
import type { Model } from '../model/model.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Reader } from '../read/find.js';
import type { Db } from '../sql/dialect.js';
import type { Recorder } from '../write/request.js';
import { newDispatcher } from './dispatcher.js';
import type { EventListeners } from './events.js';
import { ensureOutbox, forgetOrphans, type Outcome } from './outbox.js';
import { newRecorder } from './recorder.js';
import type { SenderOptions } from './sender.js';
import { readWebhooks, type Webhook } from './webhooks.js';

export interface NotifierOptions extends SenderOptions {
  /** Called with what came of each attempt. */
  readonly onOutcome: (outcome: Outcome, webhook: Webhook) => void;
}

export interface NotifierDeps extends NotifierOptions {
  readonly db: Db;
  readonly model: Model;
  readonly reader: Reader;
  readonly settings: Pick<ResolveContext, 'rest'>;
  readonly listeners?: EventListeners | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Called with background errors; what failed is tried again. */
  readonly onFault: (fault: unknown) => void;
}

/** What came of an attempt to deliver. */
export interface LastAttempt {
  /** Milliseconds since 1970 UTC. */
  readonly at: number;
  readonly event: string;
  /** Null: it was delivered. */
  readonly fault: string | null;
}

export interface Notifier {
  /** Records nothing until webhooks are known. */
  readonly recorder: Recorder;
  readonly options: SenderOptions;
  /** The last one of this process for each webhook, by its id. */
  readonly lastAttempts: ReadonlyMap<number, LastAttempt>;
  /** Reads which webhooks there are. */
  load(): Promise<void>;
  /** Sends deliveries from now on, and follows changes of webhooks within `limits.webhookLookMs`. */
  start(): Promise<void>;
  /** Claims nothing more, and resolves once the deliveries that are being sent have ended. What else is due stays. */
  stop(): Promise<void>;
}

export const newNotifier = (deps: NotifierDeps): Notifier => {
  const { db, now, onFault } = deps;
  let enabled: readonly Webhook[] = [];
  let isOutboxReady = false;
  /** The webhooks whose deliveries are kept. */
  let knownIds = '';
  const webhooks = (): readonly Webhook[] => enabled;
  const lastAttempts = new Map<number, LastAttempt>();
  const onOutcome: NotifierOptions['onOutcome'] = (outcome, webhook) => {
    const fault = outcome.kind === 'delivered' ? null : outcome.fault;
    lastAttempts.set(webhook.id, { at: now(), event: outcome.delivery.event, fault });
    deps.onOutcome(outcome, webhook);
  };
  const dispatcher = newDispatcher({ ...deps, webhooks, onOutcome });
  let isStarted = false;

  const load = async (): Promise<void> => {
    const all = await db.readSmall(() => readWebhooks(db));
    const found = all.filter((it) => it.enabled);
    if (found.length > 0 && !isOutboxReady) {
      await ensureOutbox(db);
      isOutboxReady = true;
    }
    enabled = found;
    for (const id of lastAttempts.keys()) if (!all.some((it) => it.id === id)) lastAttempts.delete(id);
    const ids = all.map((it) => it.id).join();
    if (!isOutboxReady || ids === knownIds) return;
    await forgetOrphans(db);
    knownIds = ids;
  };

  let timer: NodeJS.Timeout | null = null;
  let looking: Promise<void> = Promise.resolve();
  let isFailing = false;
  const look = async (): Promise<void> => {
    try {
      await load();
      if (enabled.length > 0) await dispatcher.look();
      isFailing = false;
    } catch (fault) {
      // a database that is away is away for many looks
      if (!isFailing) onFault(fault);
      isFailing = true;
    }
  };
  const lookLater = (): void => {
    timer = setTimeout(() => {
      looking = look().then(() => {
        if (isStarted) lookLater();
      });
    }, limits.webhookLookMs).unref();
  };

  return {
    recorder: newRecorder({
      ...deps,
      dialect: db.dialect,
      webhooks,
      now,
      onRecorded: () => {
        if (isStarted) dispatcher.wake();
      },
    }),
    options: deps,
    lastAttempts,
    load,
    start: async () => {
      await load();
      isStarted = true;
      if (enabled.length > 0) dispatcher.wake();
      lookLater();
    },
    stop: async () => {
      if (!isStarted) return;
      isStarted = false;
      if (timer) clearTimeout(timer);
      await Promise.all([looking, dispatcher.stop()]);
    },
  };
};
