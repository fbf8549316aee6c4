"""A worker of Ray."""
from ray._private.worker import main_loop
from train import train

if __name__ == "__main__":
    main_loop(train)
