/** Facts as names with their values. */
import type { ReactNode } from 'react';
import styles from './pairs.module.css';

export const Pairs = ({ pairs }: { readonly pairs: readonly (readonly [name: string, value: ReactNode])[] }) => (
  <dl className={styles['pairs']}>
    {pairs.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);
