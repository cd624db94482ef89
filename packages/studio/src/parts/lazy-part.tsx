/** Parts that are loaded when they are first wanted. One that cannot be says so in its place: what is written around it stays. */
import { Modal } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import type { ComponentType, ReactNode } from 'react';
import { words } from '../words/index.js';
import { Fault } from './Fault.js';

const partOptions = <Props,>(name: string, load: () => Promise<ComponentType<Props>>) =>
  queryOptions({
    queryKey: ['part', name],
    queryFn: load,
    staleTime: 'static',
    gcTime: Number.POSITIVE_INFINITY,
    // the browser may have it
    networkMode: 'always',
  });

/** @param name of the component, which is the same for all that load it. */
export const lazyPart = <Props extends object>(
  name: string,
  load: () => Promise<ComponentType<Props>>,
  fallback: ReactNode,
): ComponentType<Props> => {
  const LazyPart = (props: Props) => {
    const { data: Part, error } = useQuery(partOptions(name, load));
    if (Part) return <Part {...props} />;
    return error ? <Fault fault={error} /> : fallback;
  };
  return LazyPart;
};

/** The same for a dialog, of which nothing is seen until it is there. */
export const lazyDialog = <Props extends { readonly onClose: () => void }>(
  name: string,
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> => {
  const LazyDialog = (props: Props) => {
    const { data: Dialog, error } = useQuery(partOptions(name, load));
    if (Dialog) return <Dialog {...props} />;
    return (
      <Modal
        opened={error !== null}
        onClose={props.onClose}
        title={words.shell.fault.title}
        closeButtonProps={{ 'aria-label': words.shell.close }}
      >
        <Fault fault={error} />
      </Modal>
    );
  };
  return LazyDialog;
};
