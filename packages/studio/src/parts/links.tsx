/** Links of the router that look like Mantine's anchors and buttons. */
import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, Ref } from 'react';

type Native = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof AnchorProps | keyof ButtonProps> & {
  readonly ref?: Ref<HTMLAnchorElement>;
};

export const AnchorLink = createLink((props: AnchorProps & Native) => <Anchor {...props} />);

export const ButtonLink = createLink((props: ButtonProps & Native) => <Button component="a" {...props} />);
