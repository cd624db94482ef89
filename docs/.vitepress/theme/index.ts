// the default theme in the reader's own fonts
import './style.css';

export { default } from 'vitepress/theme-without-fonts';
