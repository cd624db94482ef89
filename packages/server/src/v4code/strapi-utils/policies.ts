/** `policy` of `@strapi/utils`, as far as code makes policies by it. */
import { absentMembers, UTILS, withMissing } from './missing.js';

export interface GivenPolicy {
  readonly name?: string;
  /** Throws for a configuration that is wrong. */
  readonly validator?: (config: unknown) => unknown;
  readonly handler: unknown;
}

/** A policy as an object, which a file exports in place of a function. */
const createPolicy = ({ name = 'unnamed', validator, handler }: GivenPolicy): object => ({
  name,
  validator: (config: unknown): void => {
    try {
      validator?.(config);
    } catch (cause) {
      throw new Error(`Invalid config passed to "${name}" policy.`, { cause });
    }
  },
  handler,
});

/** What policies are given of a request, with the type by which they tell it. */
const createPolicyContext = (type: string, members: object): object => ({
  is: (name: string) => name === type,
  type,
  ...members,
});

const OF_POLICY = `${UTILS}.policy` as const;

export const policy = withMissing(OF_POLICY, { createPolicy, createPolicyContext }, (name) =>
  absentMembers[OF_POLICY].has(name),
);
