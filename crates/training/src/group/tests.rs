//! Groups of threads in place of processes.

use std::{
    sync::{Arc, Barrier, Mutex},
    thread,
};

use super::*;

/// What the threads exchange: a message of each.
struct Board {
    barrier: Barrier,
    messages: Mutex<Vec<Vec<f64>>>,
}

/// One of the threads.
struct Member {
    share: Share,
    board: Arc<Board>,
}

impl Member {
    /// The messages of all.
    fn all(&self, own: Vec<f64>) -> Vec<Vec<f64>> {
        self.board.messages.lock().unwrap()[self.share.rank] = own;
        self.board.barrier.wait();
        let all = self.board.messages.lock().unwrap().clone();
        self.board.barrier.wait();
        all
    }
}

impl Processes for Member {
    fn words(&self, word: u32) -> Vec<u32> {
        self.all(vec![f64::from(word)]).iter().map(|word| word[0] as u32).collect()
    }

    fn last_words(&self, word: u32, _: Duration) -> Option<&'static [u32]> {
        Some(self.words(word).leak())
    }

    fn exchange(&self, pieces: &[f32], received: &mut [f32]) {
        let all = self.all(pieces.iter().map(|&value| f64::from(value)).collect());
        let length = pieces.len() / self.share.of;
        for (received, pieces) in received.chunks_exact_mut(length).zip(all) {
            let own = &pieces[self.share.rank * length..][..length];
            received.iter_mut().zip(own).for_each(|(received, own)| *received = *own as f32);
        }
    }

    fn join(&self, piece: &[f32], joined: &mut [f32]) {
        let all = self.all(piece.iter().map(|&value| f64::from(value)).collect()).concat();
        joined.iter_mut().zip(all).for_each(|(joined, value)| *joined = value as f32);
    }

    fn join_f64(&self, piece: &[f64], joined: &mut [f64]) {
        joined.copy_from_slice(&self.all(piece.to_vec()).concat());
    }

    fn broadcast(&self, rank: usize, bytes: Vec<u8>) -> Vec<u8> {
        let all = self.all(bytes.into_iter().map(f64::from).collect());
        all[rank].iter().map(|&byte| byte as u8).collect()
    }

    fn abort(&self, exit_code: u8) -> ! {
        panic!("ended with {exit_code}")
    }
}

/// What `act` returns in each of three ranks.
fn of_three<T: Send>(act: impl Fn(&Group) -> T + Sync) -> Vec<T> {
    let board =
        Arc::new(Board { barrier: Barrier::new(3), messages: Mutex::new(vec![Vec::new(); 3]) });
    let member = |rank| {
        let share = Share { rank, of: 3 };
        let member = Member { share, board: Arc::clone(&board) };
        let group = Group { processes: Some(Rc::new(member)), share, ..Group::default() };
        act(&group)
    };
    thread::scope(|scope| {
        let member = &member;
        let threads = [0, 1, 2].map(|rank| scope.spawn(move || member(rank)));
        threads.map(|thread| thread.join().unwrap()).into()
    })
}

#[test]
fn sums_are_those_of_all_ranks_however_many_values_there_are() {
    for length in 0..8 {
        let sums = of_three(|group| {
            let rank = group.share().rank;
            let mut values: Vec<f32> =
                (0..length).map(|index| (10 * index + rank) as f32).collect();
            let mut wide: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
            group.all_reduce(&mut values).unwrap();
            group.all_reduce_f64(&mut wide).unwrap();
            (values, wide)
        });
        let expected: Vec<f64> = (0..length).map(|index| (30 * index + 3) as f64).collect();
        for (values, wide) in sums {
            assert_eq!(values.into_iter().map(f64::from).collect::<Vec<_>>(), expected);
            assert_eq!(wide, expected);
        }
    }
}

#[test]
fn what_ranks_have_is_joined_in_their_order() {
    let joined = of_three(|group| {
        let rank = group.share().rank;
        let own = vec![rank as f32; rank]; // the first has nothing
        (group.all_gather(own).unwrap(), group.broadcast(vec![rank as u8 + 7]).unwrap())
    });
    assert_eq!(joined, vec![(vec![1.0, 2.0, 2.0], vec![7]); 3]);
}

#[test]
fn what_differs_from_rank_0_is_told_by_who_has_it() {
    let told = of_three(|group| {
        let value = if group.share().rank == 2 { "b" } else { "a" };
        group.check_same("other data", value)
    });
    let differs = GroupError::Differs { rank: 2, what: "other data".to_owned() };
    assert_eq!(told, [Ok(()), Ok(()), Err(differs)]);
}

#[test]
fn all_agree_to_stop_and_to_save_after_the_same_operation() {
    let agreed = of_three(|group| {
        let mut agreed = Vec::new();
        for step in 0..4 {
            match (step, group.share().rank) {
                (1, 0) => group.ask_to_save(),
                (3, 2) => group.ask_to_stop(),
                _ => {}
            }
            group.barrier().unwrap();
            agreed.push([group.saves(), group.stops()]);
            if group.saves() {
                group.has_saved();
            }
        }
        group.begin();
        group.barrier().unwrap();
        agreed.push([group.saves(), group.stops()]);
        agreed
    });
    let [neither, saves, stops] = [[false, false], [true, false], [false, true]];
    assert_eq!(agreed, vec![vec![neither, saves, neither, stops, neither]; 3]);
}

#[test]
fn a_rank_that_fails_ends_the_others_with_its_exit_code() {
    let ended = of_three(|group| {
        if group.share().rank == 1 {
            let mut told = false;
            group.fail(3, || told = true);
            assert!(told);
            return group.barrier();
        }
        let ended = group.barrier();
        group.fail(1, || panic!("rank 1 tells"));
        ended
    });
    assert_eq!(ended, vec![Err(GroupError::Another { rank: 1, exit_code: 3 }); 3]);
}
