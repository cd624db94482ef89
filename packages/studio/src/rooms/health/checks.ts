/** What `/_dovetail/health` says, in the order in which people want to read it. */

export interface Health {
  readonly version: string;
  readonly node: string;
  readonly startedAt: string;
  readonly mode: 'development' | 'production';
  readonly database: {
    readonly client: string;
    readonly version: string;
    readonly name: string;
    readonly bytes: number | null;
    /** What SQLite has committed beside the file; null of other databases. */
    readonly walBytes: number | null;
  };
  readonly process: {
    readonly uptimeSeconds: number;
    readonly memoryBytes: number;
    readonly threads?: number;
    readonly connections?: number;
    /** Which of several processes has answered; null if there is one. */
    readonly worker: { readonly number: number; readonly of: number } | null;
  };
  /** Of the process that has answered, since it started. */
  readonly kept: { readonly responses: Kept; readonly entries: Kept };
  readonly checks: readonly Check[];
  /** Null for those who may not see them. */
  readonly webhooks: readonly Webhook[] | null;
  readonly ignored: readonly Ignored[];
}

/** How many were there already, and how many had to be made. */
export interface Kept {
  readonly found: number;
  readonly made: number;
}

export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'fault';
  readonly message: string;
}

export interface Webhook {
  readonly id: number;
  readonly name: string;
  readonly url: string;
  readonly isEnabled: boolean;
  readonly events: readonly string[];
  readonly waiting: number;
  readonly failed: number;
  /** The last attempt to deliver that is known. */
  readonly last: { readonly at: string; readonly event: string; readonly fault: string | null } | null;
}

export interface Ignored {
  readonly file: string;
  readonly place: string | null;
  readonly message: string;
}

const rank = { fault: 0, warning: 1, ok: 2 } as const;

/** Faults first, each group in the server's order. */
export const sortedChecks = (checks: readonly Check[]): readonly Check[] =>
  [...checks].sort((a, b) => rank[a.status] - rank[b.status]);

/** The worst of all; failed deliveries are a warning. */
export const summaryOf = ({ checks, webhooks }: Pick<Health, 'checks' | 'webhooks'>): Check['status'] => {
  if (checks.some((it) => it.status === 'fault')) return 'fault';
  if (checks.some((it) => it.status === 'warning') || webhooks?.some((it) => it.failed > 0)) return 'warning';
  return 'ok';
};

/** In whole percent; null if nothing was asked yet. */
export const shareOf = ({ found, made }: Kept): number | null =>
  found + made === 0 ? null : Math.floor((found / (found + made)) * 100);

interface IgnoredFile {
  readonly file: string;
  readonly notes: readonly Omit<Ignored, 'file'>[];
}

/** By file, in the order of the first of each. */
export const byFile = (ignored: readonly Ignored[]): readonly IgnoredFile[] => {
  const files = new Map<string, Omit<Ignored, 'file'>[]>();
  for (const { file, place, message } of ignored) {
    const notes = files.get(file);
    if (notes) notes.push({ place, message });
    else files.set(file, [{ place, message }]);
  }
  return [...files].map(([file, notes]) => ({ file, notes }));
};

/** 3 d 4 h, 4 h 12 min, 12 min, 40 s: the two largest units. */
export const durationParts = (
  seconds: number,
): readonly { readonly value: number; readonly unit: 'd' | 'h' | 'min' | 's' }[] => {
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [
    { value: Math.floor(whole / 86_400), unit: 'd' as const },
    { value: Math.floor(whole / 3600) % 24, unit: 'h' as const },
    { value: Math.floor(whole / 60) % 60, unit: 'min' as const },
    { value: whole % 60, unit: 's' as const },
  ];
  const first = parts.findIndex((it) => it.value > 0);
  if (first === -1) return [parts[3]!];
  return parts.slice(first, first + 2).filter((it) => it.value > 0);
};
