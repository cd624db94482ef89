/** The whole page, while it is not known who is signed in and what the model is. */
import { Waiting } from '../parts/Waiting.js';

export const PageWaiting = () => (
  <div className="frame">
    <header className="bar">
      <div className="bar-line" />
    </header>
    <main className="room">
      <Waiting />
    </main>
  </div>
);
