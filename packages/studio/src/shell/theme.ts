/** One accent colour, the system's font, a grid of 4 px; colours of texts that are readable in both schemes (4.5 : 1). */
import { type CSSVariablesResolver, createTheme } from '@mantine/core';
import { words } from '../words/index.js';

export const theme = createTheme({
  primaryColor: 'harbour',
  primaryShade: { light: 8, dark: 7 },
  colors: {
    harbour: [
      '#eef6fb',
      '#d9e9f3',
      '#b0d0e4',
      '#84b6d5',
      '#62a3ca',
      '#4a92c1',
      '#3d84b3',
      '#2e7299',
      '#226185',
      '#0f4b6b',
    ],
  },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace',
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '20px' },
  defaultRadius: 'sm',
  cursorType: 'pointer',
  respectReducedMotion: true,
  spacing: { xs: '8px', sm: '12px', md: '16px', lg: '24px', xl: '32px' },
  headings: {
    fontWeight: '600',
    sizes: { h1: { fontSize: '20px' }, h2: { fontSize: '17px' }, h3: { fontSize: '15px' }, h4: { fontSize: '14px' } },
  },
  components: {
    // texts of content are read from the right where they are written so, each by itself
    Input: { defaultProps: { attributes: { input: { dir: 'auto' } } } },
    // of several values each is a text, and their list is none
    TagsInput: { defaultProps: { attributes: {} } },
    PillsInputField: { defaultProps: { dir: 'auto' } },
    Text: { defaultProps: { dir: 'auto' } },
    Title: { defaultProps: { dir: 'auto' } },
    Badge: { defaultProps: { tt: 'none' } },
    PasswordInput: { defaultProps: { visibilityToggleButtonProps: { 'aria-label': words.shell.showPassword } } },
    // a <header> in a dialog would be a second banner of the page
    ModalHeader: { defaultProps: { component: 'div' } },
  },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5c636a',
    '--mantine-color-placeholder': '#6b7278',
    '--mantine-color-error': '#b02525',
  },
  dark: {
    '--mantine-color-dimmed': '#adb3b9',
    '--mantine-color-placeholder': '#a0a6ac',
    '--mantine-color-error': '#ff9b9b',
  },
});

/** Of the Content-Security-Policy; the server writes it into the page. Vite's development server has none. */
export const styleNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
