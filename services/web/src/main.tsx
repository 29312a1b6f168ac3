import { render } from "preact";
import { App } from "./app.tsx";
import "./page.css";

const root = document.getElementById("page");
if (root) render(<App />, root);
