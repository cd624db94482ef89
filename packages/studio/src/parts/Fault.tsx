/** What went wrong, in the server's own words, with the place of each fault. */
import { Alert, Button, Code, List, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { DovetailError } from 'dovetail-client';
import { words } from '../words/index.js';
import { isNotLoaded } from './not-loaded.js';

const { fault: texts } = words.shell;

/** Nothing came back: the server is down, or the network. */
export const isUnreachable = (fault: unknown): boolean => fault instanceof TypeError;

const titleOf = (fault: unknown): string => {
  if (isNotLoaded(fault)) return texts.notLoaded;
  if (isUnreachable(fault)) return texts.offline;
  return fault instanceof Error ? fault.message : texts.title;
};

export const Fault = ({ fault, onRetry }: { readonly fault: unknown; readonly onRetry?: () => void }) => {
  const placed = placedFaults(faultsOf(fault), titleOf(fault));
  return (
    <Alert role="alert" color="red" variant="light" icon={<IconAlertTriangle />} title={titleOf(fault)}>
      {isNotLoaded(fault) ? (
        <Text size="sm">{texts.notLoadedHint}</Text>
      ) : (
        isUnreachable(fault) && <Text size="sm">{texts.offlineHint}</Text>
      )}
      {fault instanceof DovetailError && fault.status === 401 && <Text size="sm">{texts.signedOut}</Text>}
      {fault instanceof DovetailError && fault.status === 403 && <Text size="sm">{texts.forbidden}</Text>}
      {placed.length > 0 && (
        <List size="sm">
          {placed.map(({ path, message }) => (
            <List.Item key={`${path.join('.')} ${message}`}>
              {path.length > 0 && !namesPlace(message, path) && <Code>{path.join('.')}</Code>} {message}
            </List.Item>
          ))}
        </List>
      )}
      {isNotLoaded(fault) ? (
        // browsers keep that a script could not be loaded as long as the page is open
        <Button mt="xs" size="xs" variant="default" onClick={() => location.reload()}>
          {texts.reload}
        </Button>
      ) : (
        onRetry && (
          <Button mt="xs" size="xs" variant="default" onClick={onRetry}>
            {texts.again}
          </Button>
        )
      )}
    </Alert>
  );
};

/** The faults that say more than the title does: a single one often is the title, with its place in it. */
export const placedFaults = (faults: DovetailError['faults'], title: string): DovetailError['faults'] =>
  faults.filter(
    ({ path, message }) => faults.length > 1 || !(message === title && message.includes(path.at(-1) ?? '')),
  );

/** Whether a message begins with the place that it is about: `sections[0].text must be defined`, `Invalid parameter filters[a]: …`. */
export const namesPlace = (message: string, path: readonly string[]): boolean => {
  const [first = '', ...others] = path;
  const inQuery = `Invalid parameter ${first}${others.map((it) => `[${it}]`).join('')}:`;
  return message.replaceAll(/\[(\d+)\]/g, '.$1').startsWith(`${path.join('.')} `) || message.startsWith(inQuery);
};

const faultsOf = (fault: unknown): DovetailError['faults'] => (fault instanceof DovetailError ? fault.faults : []);
