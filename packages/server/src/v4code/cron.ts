/** `strapi.cron` and the tasks of `config/server`: rules in node-schedule's forms, run by one process of a server. */
import type { CronOptions, Cron as Job } from 'croner';
import type { FastifyBaseLogger } from 'fastify';
import { outside } from './data/scope.js';
import { CodeFault } from './loading/load.js';
import { type Callable, isCallable, isMembers, type Members } from './loading/parts.js';

export interface Cron {
  /** By rule, or by name with `{ task, options }`. */
  add(tasks?: Members): Cron;
  remove(name: string): Cron;
  /** Schedules what was added, and what is added from now on. */
  start(): Cron;
  stop(): Cron;
  destroy(): Cron;
  readonly jobs: readonly { readonly name: string | null; readonly options: unknown }[];
}

export interface CronDeps {
  readonly Scheduler: new (pattern: string | Date, options: CronOptions, run: () => void) => Job;
  readonly strapi: () => unknown;
  readonly log: FastifyBaseLogger;
  /** Whether this process runs tasks: one of those of a server does. */
  readonly isRunner: boolean;
}

interface Task {
  readonly name: string | null;
  readonly options: unknown;
  readonly schedule: () => Job;
  job: Job | null;
}

export const newCron = ({ Scheduler, strapi, log, isRunner }: CronDeps): Cron => {
  const tasks: Task[] = [];
  let isRunning = false;

  const taskOf = (key: string, given: unknown): Task => {
    const named = isMembers(given) && isCallable(given['task']) ? given : null;
    const work: Callable | null = isCallable(given) ? given : ((named?.['task'] as Callable | undefined) ?? null);
    if (!work) throw new CodeFault(`the cron task "${key}" has no function`);
    const options = named ? named['options'] : key;
    const { when, ...bounds } = ruleOf(options, key);
    const run = async (): Promise<void> => {
      try {
        await work.call(named ?? undefined, { strapi: strapi() }, new Date());
      } catch (fault) {
        log.error({ err: fault }, `the cron task "${key}" failed`);
      }
    };
    const schedule = (): Job => {
      try {
        return new Scheduler(when, { ...bounds, unref: true }, () => void outside(run));
      } catch (fault) {
        throw new CodeFault(`the rule of the cron task "${key}" cannot be read: ${(fault as Error).message}`);
      }
    };
    // a rule that cannot be read is told at once, wherever tasks run
    schedule().stop();
    return { name: named ? key : null, options, schedule, job: null };
  };
  const schedule = (task: Task): void => {
    task.job ??= task.schedule();
  };
  const cancel = (task: Task): void => {
    task.job?.stop();
    task.job = null;
  };

  const cron: Cron = {
    add: (given = {}) => {
      for (const [key, it] of Object.entries(given)) {
        const task = taskOf(key, it);
        tasks.push(task);
        if (isRunning) schedule(task);
      }
      return cron;
    },
    remove: (name) => {
      if (!name) throw new Error('You must provide a name to remove a cron job.');
      for (const task of tasks.filter((it) => it.name === name)) {
        cancel(task);
        tasks.splice(tasks.indexOf(task), 1);
      }
      return cron;
    },
    start: () => {
      isRunning = isRunner;
      if (isRunning) for (const task of tasks) schedule(task);
      return cron;
    },
    stop: () => {
      isRunning = false;
      for (const task of tasks) cancel(task);
      return cron;
    },
    destroy: () => {
      cron.stop();
      tasks.length = 0;
      return cron;
    },
    get jobs() {
      return tasks;
    },
  };
  return cron;
};

interface Rule extends Pick<CronOptions, 'timezone' | 'startAt' | 'stopAt'> {
  readonly when: string | Date;
}

/** A rule as text, as a date for once, or as `{ rule, tz, start, end }`; instead of a text also its parts. */
const ruleOf = (options: unknown, key: string): Rule => {
  if (typeof options === 'string' || options instanceof Date) return { when: options };
  if (!isMembers(options)) throw new CodeFault(`the cron task "${key}" has no rule`);
  const { rule, tz, start, end } = options;
  const when = typeof rule === 'string' || rule instanceof Date ? rule : partsOf(isMembers(rule) ? rule : options);
  const dateOf = (it: unknown): Date => (it instanceof Date ? it : new Date(it as string | number));
  return {
    when,
    ...(typeof tz === 'string' ? { timezone: tz } : {}),
    ...(start == null ? {} : { startAt: dateOf(start) }),
    ...(end == null ? {} : { stopAt: dateOf(end) }),
  };
};

/** `{ hour: 3, minute: 0, dayOfWeek: [1, 5] }`: months count from 0, and what is not given is any, but for seconds. */
const partsOf = ({ second = 0, minute, hour, date, month, dayOfWeek }: Members): string => {
  const text = (given: unknown, add = 0): string =>
    given === undefined || given === null
      ? '*'
      : [given]
          .flat()
          .map((it) => Number(it) + add)
          .join(',');
  return [text(second), text(minute), text(hour), text(date), text(month, 1), text(dayOfWeek)].join(' ');
};
