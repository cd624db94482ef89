/**
 * Sends what stands in the outbox. One transaction at a time writes down what came of attempts and claims further deliveries;
 * several processes on one database never claim the same ones. A delivery is sent again if its process died before that was
 * written down, so receivers may get one twice, with the same id.
 */
import { limits } from '../limits.js';
import type { Db } from '../sql/dialect.js';
import { type Claimed, claim, dueWebhooks, type Outcome, settle } from './outbox.js';
import { type SenderOptions, send } from './sender.js';
import type { Webhook } from './webhooks.js';

export interface DispatcherDeps extends SenderOptions {
  readonly db: Db;
  readonly webhooks: () => readonly Webhook[];
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Called with what came of each attempt, once that is written down. */
  readonly onOutcome: (outcome: Outcome, webhook: Webhook) => void;
  /** Called with background errors; what failed is tried again. */
  readonly onFault: (fault: unknown) => void;
}

export interface Dispatcher {
  /** Sends what was just committed, if this process may send more. */
  wake(): void;
  /** Looks for whatever is due; also what other processes have left. */
  look(): Promise<void>;
  /** Claims nothing more, and resolves once all attempts that run have ended and are written down. */
  stop(): Promise<void>;
}

export const newDispatcher = (deps: DispatcherDeps): Dispatcher => {
  const { db, webhooks, now, onOutcome, onFault } = deps;
  /** Deliveries that this process is sending, or of which it still has to write down what came of it. */
  const held = new Set<number>();
  const sending = new Map<number, number>();
  let sendingTotal = 0;
  let outcomes: { readonly outcome: Outcome; readonly webhook: Webhook }[] = [];
  /** Webhooks that may have more to send. */
  const promising = new Set<number>();
  /** Failures of a webhook since its last success. */
  const failures = new Map<number, number>();
  const isFailing = (webhookId: number): boolean => (failures.get(webhookId) ?? 0) >= limits.webhookFailuresMax;
  /** Failing webhooks that were just sent something. */
  const paused = new Set<number>();
  let isStopped = false;
  let first = 0;

  /** How many deliveries of which webhooks to claim; each time another webhook comes first. */
  const wanted = (): readonly { readonly webhook: Webhook; readonly count: number }[] => {
    if (isStopped) return [];
    const all = webhooks();
    first = (first + 1) % Math.max(1, all.length);
    let free = limits.webhookRequestsTotalMax - sendingTotal;
    return [...all.slice(first), ...all.slice(0, first)].flatMap((webhook) => {
      const most = isFailing(webhook.id) ? 1 : limits.webhookRequestsMax;
      const own = Math.max(0, most - (sending.get(webhook.id) ?? 0));
      const count = promising.has(webhook.id) && !paused.has(webhook.id) ? Math.min(own, free) : 0;
      free -= count;
      return count > 0 ? [{ webhook, count }] : [];
    });
  };

  // all turns are of one kind: each tells whether the next one is small enough for the server's thread
  const turns = {};
  const turn = async (): Promise<void> => {
    const done = outcomes.slice();
    const claims = wanted();
    if (done.length === 0 && claims.length === 0) return;
    const claimed = await db.write(async (tx) => {
      const time = now();
      await settle(
        done.map((it) => it.outcome),
        time,
        tx,
        db.dialect,
      );
      const found: { readonly webhook: Webhook; readonly count: number; readonly deliveries: readonly Claimed[] }[] =
        [];
      for (const { webhook, count } of claims)
        found.push({ webhook, count, deliveries: await claim(webhook.id, count, time, tx, db.dialect) });
      return found;
    }, turns);
    outcomes = outcomes.slice(done.length);
    for (const { outcome, webhook } of done) {
      held.delete(outcome.delivery.id);
      onOutcome(outcome, webhook);
    }
    for (const { webhook, count, deliveries } of claimed) {
      if (deliveries.length < count) promising.delete(webhook.id);
      // one that took longer than its lease is due again, and still being sent
      for (const it of deliveries) if (!held.has(it.id)) start(webhook, it);
    }
  };

  const start = (webhook: Webhook, delivery: Claimed): void => {
    held.add(delivery.id);
    sending.set(webhook.id, (sending.get(webhook.id) ?? 0) + 1);
    sendingTotal += 1;
    send(webhook, delivery, deps, now()).then((sent) => {
      sending.set(webhook.id, sending.get(webhook.id)! - 1);
      sendingTotal -= 1;
      outcomes.push({ outcome: outcomeOf(delivery, sent, now()), webhook });
      failures.set(webhook.id, sent.ok ? 0 : (failures.get(webhook.id) ?? 0) + 1);
      if (isFailing(webhook.id)) pause(webhook.id);
      // the next one of the same subject may follow now
      promising.add(webhook.id);
      run().catch(onFault);
    }, onFault);
  };

  const pause = (webhookId: number): void => {
    paused.add(webhookId);
    setTimeout(() => {
      paused.delete(webhookId);
      if (!isStopped) run().catch(onFault);
    }, limits.webhookFailingPauseMs).unref();
  };

  let running: Promise<void> | null = null;
  let isAsked = false;
  /** Takes turns until nothing is left to do; concurrent calls share them. */
  const run = (): Promise<void> => {
    isAsked = true;
    running ??= (async () => {
      try {
        while (isAsked) {
          // whatever ends in the same turn of the event loop is written down together
          await new Promise(setImmediate);
          isAsked = false;
          await turn();
        }
      } finally {
        running = null;
      }
    })();
    return running;
  };

  return {
    wake: () => {
      if (isStopped) return;
      for (const { id } of webhooks()) promising.add(id);
      run().catch(onFault);
    },
    look: async () => {
      if (isStopped) return;
      for (const id of await db.readSmall(() => dueWebhooks(now(), db.dialect))) promising.add(id);
      await run();
    },
    stop: async () => {
      isStopped = true;
      // a turn that has begun may still claim deliveries
      await run();
      while (sendingTotal > 0) await new Promise((resolve) => setTimeout(resolve, STOP_LOOK_MS));
      await run();
    },
  };
};

const STOP_LOOK_MS = 20;

/** @param now milliseconds since 1970 UTC. */
const outcomeOf = (delivery: Claimed, sent: Awaited<ReturnType<typeof send>>, now: number): Outcome => {
  if (sent.ok) return { kind: 'delivered', delivery };
  const failure = { delivery, status: sent.status, fault: sent.fault };
  if (delivery.attempt >= limits.webhookAttemptsMax) return { kind: 'given up', ...failure };
  return { kind: 'again', ...failure, dueAt: now + pauseAfter(delivery.attempt) };
};

/** Not quite the same for all, so that they do not come at once to a receiver that has just recovered. */
const pauseAfter = (attempt: number, random = Math.random()): number =>
  Math.round(Math.min(limits.webhookPauseMsMax, limits.webhookPauseMs * 4 ** (attempt - 1)) * (0.9 + 0.2 * random));
