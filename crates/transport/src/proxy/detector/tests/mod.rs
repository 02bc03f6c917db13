mod ground_truth;
mod per_flow;
mod per_path;
