/** A link to an address of the room Content that is made of the model's names. */
import type { AnchorProps } from '@mantine/core';
import type { ReactNode } from 'react';
import { AnchorLink } from '../../../parts/links.js';

export const EntryLink = ({
  to,
  ...props
}: AnchorProps & {
  readonly to: string;
  readonly tabIndex?: number;
  readonly 'aria-label'?: string;
  readonly children: ReactNode;
  // names of types are not known to the compiler, which knows the addresses of routes
}) => <AnchorLink to={to as '/content'} {...props} />;
